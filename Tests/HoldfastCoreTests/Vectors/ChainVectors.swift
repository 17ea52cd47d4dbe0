import HoldfastCore

/// Cases of `Fingerprint` and `AckDigest`.
enum ChainVectors {
  static var cases: [JSONValue] { chains + fingerprints + digests }

  private static var chains: [JSONValue] {
    let sets = [
      [
        #"[{"op":"create","table":"lists","id":"01912f3c-8a00-7000-8000-000000000001","at":"01a206cf11120000","columns":{"title":"Groceries"}}]"#,
        #"[{"op":"update","table":"lists","id":"01912f3c-8a00-7000-8000-000000000001","rev":1,"at":"01a206cf5f320000","columns":{"title":"Shopping"},"base":{"title":"Groceries"}}]"#,
      ],
      ["[]", "[\"\u{E9}\u{1F600}\"]", ""],
    ]
    return sets.map { sets in
      var chain = Fingerprint.beginning
      let chains = sets.map { set in
        chain = Array(set.utf8).withUnsafeBufferPointer { chain.chained(with: $0) }
        return JSONValue.string(chain.text)
      }
      return ["change_sets": .array(sets.map { .string($0) }), "chains": .array(chains)]
    }
  }

  private static var fingerprints: [JSONValue] {
    ["", "a", "foobar", "\u{E9}", "zone=943adb21.2", "\u{1F600}"].map {
      ["text": .string($0), "fingerprint": .string(Fingerprint(of: $0).text)]
    }
  }

  private static var digests: [JSONValue] {
    let acks: [[(String, String)]] = [
      [], [("a", "")], [("a", "943adb21.1")], [("a", "943adb21.1"), ("b", "943adb21.2")],
      [
        ("01a206cf-fb6b-7838-89a8-1f93aa03e084", "943adb21.1"),
        ("01912f3c-8a00-7000-8000-000000000001", "943adb21.2"),
      ],
      [("catalogue", "ffffffff.9223372036854775807"), ("\u{E9}", "00000000.0")],
    ]
    return acks.map { acks in
      var digest = AckDigest()
      for (zone, token) in acks { digest.add(zone: zone, token: token) }
      return [
        "acks": .object(acks.map { .init($0.0, .string($0.1)) }), "digest": .string(digest.text),
      ]
    }
  }
}
