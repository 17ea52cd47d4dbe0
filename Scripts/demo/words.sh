# How the demos speak. Sourced by those that show something.

heading() { printf '\n%s%s%s\n\n' "$bold" "$*" "$plain"; }
note() { printf '%12s%s\n' '' "$*"; }
say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "FAILED: $*" >&2; exit 1; }

if [[ -t 1 && -z ${NO_COLOR:-} ]]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; else bold='' dim='' plain=''; fi
