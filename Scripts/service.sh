# What the scripts that start a server of somebody else's have in common. Sourced. A server that refuses to run as root runs, called by root, as
# postgres or, where there is none, as nobody.

owner=$(id -un)
if ((EUID == 0)); then
  if id -u postgres >/dev/null 2>&1; then owner=postgres; else owner=nobody; fi
fi

as_owner() {
  if ((EUID == 0)); then (cd / && exec runuser -u "$owner" -- "$@"); else "$@"; fi
}

is_listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# A port that is free now; another may take it before the server does, so who starts one tries several.
free_port() {
  local port
  while :; do
    port=$((RANDOM % 20000 + 20000))
    if ! is_listening "$port"; then
      echo "$port"
      return
    fi
  done
}

# Folders on the way to a folder must let the owner pass; one of mktemp -d, mode 700, would not.
prepare_folder() {
  mkdir -p "$1"
  if ((EUID == 0)); then
    chown "$owner" "$1"
    local folder=$1
    until as_owner test -x "$folder/." -a -w "$1/."; do
      folder=$(dirname "$folder")
      if [[ $folder == / ]]; then
        echo "$owner can't reach $1." >&2
        exit 73
      fi
      if [[ $(stat -c %u "$folder") == 0 && $folder == "${TMPDIR:-/tmp}"/* ]]; then chmod o+x "$folder"; fi
    done
  fi
}

# A server keeps no descriptor of its starter open, who may wait for the end of a pipe or a socket.
close_descriptors() {
  local path fd
  for path in /proc/$BASHPID/fd/*; do
    fd=${path##*/}
    if ((fd > 2 && fd != 255)); then eval "exec $fd>&-"; fi
  done
}

# Waits until a process is dead; one that is not yet waited for shows as Z.
wait_for_end() {
  while [[ $(sed -n 's/^State:.\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null) == [!Z] ]]; do sleep 0.02; done
}
