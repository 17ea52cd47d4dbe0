import Foundation
import HoldfastCore
import HoldfastCurl

/// The address of an S3-compatible store, and what its requests are signed with.
struct S3Access {
  /// The sentences about credentials in the help.
  static let notes =
    "An S3-compatible store takes its credentials from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION (us-east-1 unless given), and AWS_SESSION_TOKEN if there is one."

  /// Without a slash at its end.
  let endpoint: String
  let signer: HTTPClientSigner
  /// That of temporary credentials.
  let sessionToken: String?

  /// - Parameters:
  ///   - endpoint: such as `https://s3.example.org`; nil for Amazon's of the region.
  ///   - variables: the environment.
  /// - Throws: `UsageError` for a wrong address, and for credentials that are missing or wrong.
  init(endpoint: String?, _ variables: TextMap<String>) throws(UsageError) {
    func variable(_ name: String) throws(UsageError) -> String? {
      guard let value = variables[name], !value.isEmpty else { return nil }
      // They stand in fields of the requests.
      guard value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw UsageError("\(name) has a character that no such value has, such as a space or a line break.")
      }
      return value
    }
    guard let key = try variable("AWS_ACCESS_KEY_ID"), let secret = try variable("AWS_SECRET_ACCESS_KEY")
    else { throw UsageError("Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment.") }
    let region: String
    if let given = try variable("AWS_REGION") { region = given } else { region = "us-east-1" }
    let letters = region.utf8.allSatisfy { byte in
      (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D
    }
    guard letters else { throw UsageError("AWS_REGION is \"\(region)\", and has a-z, 0-9 and \"-\" only.") }
    signer = HTTPClientSigner(region: region, key: key, secret: secret)
    sessionToken = try variable("AWS_SESSION_TOKEN")
    let address = endpoint ?? "https://s3.\(region).amazonaws.com"
    let parts = URLComponents(string: address)
    guard let parts, ["http", "https"].contains(parts.scheme), parts.host?.isEmpty == false,
      parts.user == nil,
      ["", "/"].contains(parts.path), parts.query == nil, parts.fragment == nil
    else { throw UsageError("--s3-endpoint takes an address such as https://s3.example.org.") }
    self.endpoint = address.hasSuffix("/") ? String(address.dropLast()) : address
  }
}
