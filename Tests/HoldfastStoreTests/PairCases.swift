/// The cases of `PairTests`.
enum PairCases {
  static let all: [PairTests.Pair] = [
    .init(.create, .create, "made by y; logged: made by x", alone: "made by y"),
    .init(
      .create, .update, "title of y", reversed: "made by x; y refused record-unknown", alone: "title of y"),
    .init(
      .create, .updateOther, "made by x, note of y", reversed: "made by x; y refused record-unknown",
      alone: "made by x, note of y"),
    .init(.create, .delete, "gone", reversed: "made by x", alone: "gone"),
    .init(
      .create, .restore, "back by y; logged: list, made by x", reversed: "back by y; logged: made by x",
      alone: "back by y"),
    .init(
      .create, .move, "made by x, moved by y", reversed: "made by x; y refused record-unknown",
      alone: "made by x, moved by y"),
    .init(
      .create, .reorder, "made by x, at y", reversed: "made by x; y refused record-unknown",
      alone: "made by x, at y"),

    .init(.update, .update, "title of y; logged: title of x", alone: "title of y"),
    .init(.update, .updateOther, "title of x, note of y", alone: "title of x, note of y"),
    .init(.update, .delete, "gone; logged: title of x", alone: "gone"),
    .init(
      .update, .restore, "back by y; logged: title of x", alone: "back by y; logged: title of x"),
    .init(.update, .move, "title of x, moved by y", alone: "title of x, moved by y"),
    .init(.update, .reorder, "title of x, at y", alone: "title of x, at y"),

    .init(.updateOther, .updateOther, "old, note of y; logged: note of x", alone: "old, note of y"),
    .init(.updateOther, .delete, "gone; logged: note of x", alone: "gone"),
    .init(
      .updateOther, .restore, "back by y; logged: note of x", reversed: "back by y, note of x",
      alone: "back by y; logged: note of x"),
    .init(.updateOther, .move, "old, note of x, moved by y", alone: "old, note of x, moved by y"),
    .init(.updateOther, .reorder, "old, note of x, at y", alone: "old, note of x, at y"),

    .init(.delete, .delete, "gone", alone: "gone"),
    .init(
      .delete, .restore, "back by y", reversed: "gone; logged: back by y, list", alone: "back by y"),
    .init(.delete, .move, "gone; logged: list", alone: "gone; logged: list"),
    .init(.delete, .reorder, "gone; logged: place", alone: "gone; logged: place"),

    .init(.restore, .restore, "back by y; logged: back by x", alone: "back by y"),
    .init(
      .restore, .move, "back by x, moved by y", reversed: "back by x; logged: list",
      alone: "back by x, moved by y"),
    .init(
      .restore, .reorder, "back by x, at y", reversed: "back by x; logged: place", alone: "back by x, at y"),

    .init(.move, .move, "old, moved by y; logged: list", alone: "old, moved by y"),
    .init(.move, .reorder, "old, at y, moved by x", alone: "old, at y, moved by x"),
    .init(.reorder, .reorder, "old, at y; logged: place", alone: "old, at y"),
  ]
}
