/// The sentence that names what somebody probably meant; empty where nothing is near.
///
/// - Parameter prefix: what stands before the name in the sentence.
func suggestion(for word: String, among names: [String], prefix: String = "") -> String {
  let distances = names.map { (name: $0, distance: editDistance(Array(word.utf8), Array($0.utf8))) }
  guard let nearest = distances.min(by: { $0.distance < $1.distance }),
    nearest.distance <= max(1, nearest.name.utf8.count / 3)
  else { return "" }
  return " Did you mean \(prefix)\(nearest.name)?"
}

/// How many bytes must be added, removed, replaced or exchanged with their neighbour to make one word of the other.
///
/// Source: the optimal string alignment distance (Damerau 1964).
private func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
  // A command line is short; longer ones are not compared.
  guard left.count <= 64, right.count <= 64 else { return .max }
  var rows = [Array(0...right.count)]
  for i in left.indices {
    var row = [i + 1]
    for j in right.indices {
      var least = min(rows[i][j] + (left[i] == right[j] ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
      if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
        least = min(least, rows[i - 1][j - 1] + 1)
      }
      row.append(least)
    }
    rows.append(row)
  }
  return rows[left.count][right.count]
}
