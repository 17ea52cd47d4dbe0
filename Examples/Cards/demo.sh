#!/usr/bin/env bash
# A class with flash cards, on a real server: a catalogue that the app ships, two people, edits without a network, a conflict, sharing, and answers
# that are counted for each person. Ends with 1 where anything is not as it has to be.
#
#     swift build --product holdfast && swift build --product cards && Examples/Cards/demo.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=$(cd "${HOLDFAST_BIN:-.build/debug}" && pwd)
folder=$(mktemp -d)
server=
port=0
export CARDS_PASSWORD='correct horse'

finish() {
  local status=$?
  if [[ -n $server ]]; then kill "$server" 2>/dev/null || true; fi
  if ((status == 0)); then rm -rf "$folder"; else echo "The demo failed; its files are in $folder" >&2; fi
}
trap finish EXIT

start_server() {
  local line
  : >"$folder/out"
  "$bin/holdfast" serve --schema Examples/Cards/Model/holdfast.json --data "$folder/server" \
    --listen "127.0.0.1:$port" >"$folder/out" 2>>"$folder/log" &
  server=$!
  until read -r line <"$folder/out"; do kill -0 "$server" && sleep 0.05; done
  [[ $line =~ :([0-9]+)$ ]]
  port=${BASH_REMATCH[1]}
  export CARDS_SERVER=http://127.0.0.1:$port
}

stop_server() {
  kill "$server"
  wait "$server" || true
  server=
}

# device NAME COMMAND…: shows a command and runs it on a device, which is a database file.
device() {
  printf '%-8s $ cards %s\n' "$1" "${*:2}"
  "$bin/cards" "${@:2}" --db "$folder/$1.db" </dev/stdin
}

# expect TEXT NAME COMMAND…: what the command prints has to be the text.
expect() {
  local output
  output=$(device "${@:2}" </dev/null | tail -n +2)
  echo "$output"
  if [[ $output != "$1" ]]; then
    printf 'This was expected:\n%s\n' "$1" >&2
    exit 1
  fi
}

heading() { printf '\n%s\n' "$1"; }

heading '1. A publisher makes the catalogue, and the app ships it as a file.'
start_server
device press sign-up press </dev/null
"$bin/holdfast" zones --data "$folder/server" grant catalogue press editor
device press new 'Capitals of Europe' France=Paris Norway=Oslo Malta=Valletta </dev/null
device press new 'Chemical elements' H=Hydrogen He=Helium </dev/null
device press publish Capitals </dev/null
device press publish Chemical </dev/null
device press sync </dev/null
"$bin/holdfast" snapshot --data "$folder/server" --public --output "$folder/catalogue.db"
export CARDS_SEED=$folder/catalogue.db

heading '2. A new device has it before it ever had a network.'
stop_server
expect $'Capitals of Europe\nChemical elements' teacher catalogue
device teacher copy Capitals </dev/null
expect $'France = Paris\nNorway = Oslo\nMalta = Valletta' teacher show Capitals

heading '3. A teacher shares the set with a class, and two students join.'
start_server
device teacher sign-up ms.hill </dev/null
device teacher new-class Geography </dev/null
device teacher share Capitals Geography --edit </dev/null
device teacher sync </dev/null
link=$("$bin/cards" invite Geography --db "$folder/teacher.db")
for student in ann bob; do
  device "$student" sign-up "$student" </dev/null
  device "$student" join "$link" </dev/null
done
expect 'Geography: ann, bob, ms.hill; sets: Capitals of Europe' bob classes

heading '4. Both edit without a network: other terms, one order, and one definition that both change.'
stop_server
device ann add Capitals Chad "N'Djamena" --first </dev/null
device ann define Capitals Malta 'Valletta, by the sea' </dev/null
device bob move Capitals France --last </dev/null
device bob define Capitals Malta 'Valletta (1566)' </dev/null
start_server
for student in ann bob ann; do device "$student" sync </dev/null; done
expected=$'Chad = N\'Djamena\nNorway = Oslo\nMalta = Valletta, by the sea\nFrance = Paris'
expect "$expected" ann show Capitals
expect "$expected" bob show Capitals

heading '5. The definition is a question: the first holds until a person decides.'
expect 'Valletta, by the sea | Valletta (1566)' bob conflicts --other
device bob sync </dev/null
device ann sync </dev/null
expect $'Chad = N\'Djamena\nNorway = Oslo\nMalta = Valletta (1566)\nFrance = Paris' ann show Capitals

heading '6. Studying is counted for each person, on all devices of the person.'
device tablet sign-in ann </dev/null
stop_server
printf 'wrong\nOslo\n' | device ann study Capitals
printf "N'Djamena\\nOslo\\n" | device tablet study Capitals
start_server
for name in ann tablet ann; do device "$name" sync </dev/null; done
progress=$'Chad: 1 known, 1 missed\nNorway: 2 known, 0 missed\nMalta: 0 known, 0 missed\nFrance: 0 known, 0 missed'
expect "$progress" ann progress Capitals
expect "$progress" tablet progress Capitals
device teacher sync </dev/null
expect $'Chad: 0 known, 0 missed\nNorway: 0 known, 0 missed\nMalta: 0 known, 0 missed\nFrance: 0 known, 0 missed' teacher progress Capitals

heading '7. The catalogue goes on: a set that is published later reaches devices that began with the file.'
device press new 'Rivers' Thames=London </dev/null
device press publish Rivers </dev/null
device press sync </dev/null
device bob sync </dev/null
expect $'Capitals of Europe\nChemical elements\nRivers' bob catalogue

heading '8. The teacher takes the set back: it leaves the students, and what they still write is refused and kept.'
device teacher unshare Capitals Geography </dev/null
device bob add Capitals Peru Lima </dev/null
device teacher sync </dev/null
expect $'1 sent, 0 received, 1 refused' bob sync
expect '' bob sets
"$bin/cards" status --db "$folder/bob.db"
[[ $("$bin/cards" status --db "$folder/bob.db") == *'1 refused:'*term=Peru* ]]
device bob discard 1 </dev/null
expect 'user: bob; 0 waiting' bob status

heading '9. Two sets of one title are told apart by their ids.'
for student in ann bob; do device ann new French un=one </dev/null; done
twins=$("$bin/cards" show French --db "$folder/ann.db" 2>&1 || true)
echo "$twins"
[[ $twins =~ ([0-9a-f-]{36})\ \ French ]]
device ann remove "${BASH_REMATCH[1]}" </dev/null
expect 'un = one' ann show French
"$bin/holdfast" doctor --data "$folder/server"
heading 'All is as it has to be.'
