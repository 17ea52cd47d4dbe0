/// A record that was created here.
struct CreatedRecord {
  let table: Int
  let id: String
}
