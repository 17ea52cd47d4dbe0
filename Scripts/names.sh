#!/usr/bin/env bash
# Fails when the public names that `import Holdfast` brings into an app are not those of Scripts/names.txt. HoldfastCore and HoldfastSQLite are
# exported as a whole, so a declaration of theirs that no app needs is `package`. A name must not be one of Foundation, SwiftUI or Observation.
#
#     Scripts/names.sh           compares
#     Scripts/names.sh --write   writes Scripts/names.txt again
set -euo pipefail
cd "$(dirname "$0")/.."

# The formatter indents what is in #if, so the depth of a declaration is its indentation less that of the conditions around it.
names() {
  find Sources/HoldfastCore Sources/HoldfastSQLite Sources/Holdfast -name '*.swift' -type f -print0 | xargs -0 awk '
    function name(text) {
      sub(/^.*public /, "", text)
      sub(/^((final|indirect|static|mutating|nonisolated|prefix) )*/, "", text)
      sub(/^(struct|class|enum|protocol|actor|typealias|func|let|var) /, "", text)
      sub(/[^A-Za-z0-9_].*/, "", text)
      return text
    }
    FNR == 1 { conditions = 0 }
    /^ *#if/ { conditions++ }
    /^ *#endif/ { conditions-- }
    { match($0, /^ */); depth = RLENGTH / 2 - conditions }
    depth == 0 && /^ *([@a-z(), ]* )?public / && !/import / { visible[name($0)] = 1; extended = name($0) }
    depth == 0 && /^ *extension / { extended = $0; sub(/^ *extension /, "", extended); sub(/[^A-Za-z0-9_].*/, "", extended) }
    depth == 1 && /^ *([@a-z(), ]* )?public / { member[extended, name($0)] = 1 }
    END {
      # An operator has no name.
      delete visible[""]
      for (each in visible) print each
      # A member of a type of another module is as visible as a name.
      for (each in member) { split(each, part, SUBSEP); if (!(part[1] in visible)) print part[1] "." part[2] }
    }' | LC_ALL=C sort
}

if [[ ${1:-} == --write ]]; then
  names >Scripts/names.txt
elif ! diff Scripts/names.txt <(names) >&2; then
  echo 'The names that an app sees have changed. Make a name that no app needs `package`; otherwise run Scripts/names.sh --write.' >&2
  exit 1
fi
