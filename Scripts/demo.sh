#!/usr/bin/env bash
# Three devices of two people write one list without a network, and are broken off while they meet again. Then it is
# counted, in the databases, whether every edit arrived once and all agree. HOLDFAST_BIN: where holdfast and jot are.
set -euo pipefail
cd "$(dirname "$0")/.."
source Scripts/demo/stage.sh
source Scripts/demo/agreement.sh

LIST='Things we need'
BULK=3000
jars=0
bottles=0

begin() {
  heading '1. Ann has a phone and a laptop, Bob has a tablet. They share a list.'
  start_server
  local address="http://127.0.0.1:$port"
  phone sign-up ann --server "$address" --device phone
  laptop sign-in ann --server "$address" --device laptop
  tablet sign-up bob --server "$address" --device tablet
  phone add "$LIST" Milk Bread Eggs Butter Apples Coffee
  phone share "$LIST" bob
  phone sync
  tablet accept "$(tablet invitations --json | grep -oE '[0-9a-f]{8}-[0-9a-f-]{27}' | head -1)"
  phone sync
  laptop sync
  tablet sync
  tablet items "$LIST"
}

work_offline() {
  heading '2. The server stops. All three go on, partly on the same items.'
  stop_server
  phone add "$LIST" Honey Tea
  phone rename "$LIST" Milk 'Oat milk'
  phone check "$LIST" Bread
  phone move "$LIST" Coffee --first
  phone remove "$LIST" Apples
  laptop add "$LIST" Salt Flour
  laptop rename "$LIST" Milk 'Whole milk'
  laptop rename "$LIST" Bread 'Rye bread'
  laptop rename "$LIST" Butter 'Salted butter'
  laptop move "$LIST" Coffee --after Eggs
  tablet add "$LIST" Pepper Sugar
  tablet rename "$LIST" Milk 'Soy milk'
  tablet rename "$LIST" Apples 'Green apples'
  tablet remove "$LIST" Butter
  tablet check "$LIST" Eggs
  say
  say "Two of them make $BULK edits each besides, one by one:"
  add_jars
  add_bottles
  phone share Cellar bob --role viewer
  say
  say 'Without the server a sync says so, and keeps everything:'
  phone sync || say "(exit code $?)"
  phone status
  remember phone
  remember laptop
  remember tablet
}

add_jars() {
  seq "$((jars + 1))" "$((jars + BULK))" | sed 's/^/Jar /' >"$folder/jars.txt"
  jars=$((jars + BULK))
  laptop add Pantry --file "$folder/jars.txt"
}

add_bottles() {
  seq "$((bottles + 1))" "$((bottles + BULK))" | sed 's/^/Bottle /' >"$folder/bottles.txt"
  bottles=$((bottles + BULK))
  phone add Cellar --file "$folder/bottles.txt"
}

break_off() {
  heading '3. The server is back. The laptop is killed in the middle of its upload.'
  start_server
  break_midway laptop kill_device add_jars
  note 'kill -KILL (the laptop)'
  show_midway laptop
  say
  say 'Started again, it goes on where it was:'
  laptop sync 2>/dev/null

  heading '4. The server is killed in the middle of the upload of the phone.'
  break_midway phone kill_server add_bottles
  note 'kill -KILL (the server)'
  wait "$server" 2>/dev/null || true
  server=
  show_midway phone
  start_server
  phone sync 2>/dev/null
}

meet() {
  heading '5. All sync until nothing moves any more, twice around.'
  local quiet=0 round moved
  for round in {1..10}; do
    moved=0
    for name in phone laptop tablet; do moved=$((moved + $(moved_by_sync "$name"))); done
    say "round $round: $moved edits and changes moved"
    if ((moved == 0)); then quiet=$((quiet + 1)); else quiet=0; fi
    ((quiet < 2)) || return 0
  done
  fail 'the devices did not come to rest'
}

moved_by_sync() { jot "$1" sync --json 2>/dev/null | awk -F '[:,]' '/sent|received/ { sum += $2 } END { print sum }'; }

look() {
  heading '6. The three lists, side by side, and the edits that met.'
  for name in phone laptop tablet; do { echo "$name:"; jot "$name" items "$LIST"; } >"$folder/$name.txt"; done
  pr -m -t -w 108 "$folder"/{phone,laptop,tablet}.txt | expand
  say
  phone conflicts
}

count() {
  heading '7. Counted in the databases.'
  for name in phone laptop tablet; do
    check_arrived "$name"
    check_same "$name" lists items members conflicts
  done
  check_not_doubled
  check "jars and bottles on the server, of $((jars + bottles)) made" "$((jars + bottles))" \
    "$(query "$(server_database)" "SELECT count(*) FROM items WHERE title GLOB 'Jar *' OR title GLOB 'Bottle *'")"
  check_not_lost 'Oat milk' 'Whole milk' 'Soy milk' 'Rye bread' 'Salted butter' 'Green apples' Honey Tea Salt Flour Pepper Sugar
  for file in "$(server_database)" "$folder"/{phone,laptop,tablet}.db; do check_whole "$file"; done
  check_done
}

catalogue() {
  heading '8. A public catalogue: countries, subdivisions, languages, currencies.'
  publisher sign-up press --server "http://127.0.0.1:$port" --device desk
  show server holdfast zones --data "$folder/server" grant catalogue press editor
  "$bin/holdfast" zones --data "$folder/server" grant catalogue press editor
  publisher catalogue import /usr/share/iso-codes/json
  publisher catalogue import /usr/share/iso-codes/json
  phone catalogue follow
  stop_server
  phone catalogue search Bavar
  phone catalogue search Swiss
  say
  check_arrived publisher
  for name in publisher phone; do check_same "$name" countries subdivisions languages currencies; done
  check_whole "$(server_database)"
  check_whole "$(database phone)"
  check_done
}

restore() {
  heading "9. The server's disk is lost. Yesterday's backup is restored, and the devices recover the day."
  start_server
  show server holdfast backup --data "$folder/server" "$folder/yesterday.backup"
  "$bin/holdfast" backup --data "$folder/server" "$folder/yesterday.backup"
  phone add "$LIST" Olives
  phone sync
  laptop sync
  laptop rename "$LIST" Honey 'Acacia honey'
  laptop sync
  tablet remove "$LIST" Pepper
  for name in tablet phone laptop; do jot "$name" sync >/dev/null 2>&1; done
  stop_server KILL
  show server holdfast restore --replace --data "$folder/server" "$folder/yesterday.backup"
  "$bin/holdfast" restore --replace --data "$folder/server" "$folder/yesterday.backup"
  say "The server has of the day: $(day_on_server) of 3 edits"
  start_server
  for _ in {1..3}; do for name in phone laptop tablet; do jot "$name" sync >/dev/null 2>&1; done; done
  show server holdfast restore --report --data "$folder/server"
  "$bin/holdfast" restore --report --data "$folder/server"
  check 'edits of the day that are on the server again, of 3' 3 "$(day_on_server)"
  for name in phone laptop tablet; do check_same "$name" lists items members conflicts; done
  check_whole "$(server_database)"
  check_done
}

# How many of the three edits of the day the server has.
day_on_server() {
  query "$(server_database)" "SELECT count(*) FROM (
    SELECT 1 FROM items WHERE title = 'Olives' UNION ALL SELECT 1 FROM items WHERE title = 'Acacia honey'
    UNION ALL SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM items WHERE title = 'Pepper'))"
}

end() {
  heading "Everything arrived once, and all agree ($SECONDS s). To go on by hand:"
  say "make web DATA=$folder/server"
  say '  then Jot on the web is at http://127.0.0.1:8080: sign in as ann with the password "correct horse".'
  say "$bin/holdfast serve --schema $PWD/Examples/Jot/holdfast.json --data $folder/server --listen 127.0.0.1:$port & sleep 1"
  say "$bin/jot --db $folder/phone.db items '$LIST'"
  say "$bin/jot --db $folder/tablet.db add '$LIST' Cheese --sync"
}

begin
work_offline
break_off
meet
look
count
catalogue
restore
end
