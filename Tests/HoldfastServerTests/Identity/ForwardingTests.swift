import HoldfastHTTP
import Testing

@testable import HoldfastServer

/// Whose address a request behind a proxy has.
@Suite struct ForwardingTests {
  private func client(_ peer: String, _ forwarded: String?, _ proxies: String...) -> String {
    var headers = HTTPHeaders()
    if let forwarded { headers.append(name: "X-Forwarded-For", value: forwarded) }
    return TrustedProxies(proxies.compactMap { IPAddress.Range($0) })
      .client(of: HTTPRequest(headers: headers, remoteAddress: peer)).address
  }

  @Test("what somebody else than a trusted proxy says is not believed (I10)")
  func untrusted() {
    #expect(client("192.0.2.1", "198.51.100.1") == "192.0.2.1")
    #expect(client("192.0.2.1", "198.51.100.1", "10.0.0.0/8") == "192.0.2.1")
    #expect(client("10.0.0.1", "203.0.113.9, 198.51.100.1", "10.0.0.0/8") == "198.51.100.1")
  }

  @Test("proxies behind proxies are passed over, ports and brackets too; what is no address ends it")
  func chains() {
    #expect(client("10.0.0.1", "198.51.100.1, 10.0.0.2", "10.0.0.0/8") == "198.51.100.1")
    #expect(client("10.0.0.1", "10.0.0.3", "10.0.0.0/8") == "10.0.0.3")
    #expect(client("10.0.0.1", "198.51.100.1:4711", "10.0.0.1") == "198.51.100.1")
    #expect(client("::1", "[2001:db8::1]:4711", "::1") == "2001:db8::1")
    #expect(client("10.0.0.1", "198.51.100.1, unknown", "10.0.0.1") == "10.0.0.1")
    #expect(client("10.0.0.1", nil, "10.0.0.1") == "10.0.0.1")
    #expect(client("::ffff:10.0.0.1", "198.51.100.1", "10.0.0.1") == "198.51.100.1")
  }

  @Test("the scheme is believed of a trusted proxy alone")
  func scheme() {
    var headers = HTTPHeaders()
    headers.append(name: "X-Forwarded-Proto", value: "https")
    let proxies = TrustedProxies([IPAddress.Range("10.0.0.0/9")].compactMap(\.self))
    #expect(proxies.client(of: HTTPRequest(headers: headers, remoteAddress: "10.127.0.1")).scheme == "https")
    #expect(proxies.client(of: HTTPRequest(headers: headers, remoteAddress: "10.128.0.1")).scheme == nil)
  }

  @Test(
    "a range is an address with a prefix that it has",
    arguments: ["", "x", "10.0.0.1/33", "10.0.0.1/", "::1/129", "a/8", "1.2.3.4/8/9", "1.2.3.4/-1"])
  func ranges(_ text: String) { #expect(IPAddress.Range(text) == nil) }
}
