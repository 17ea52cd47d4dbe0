import Foundation
import HoldfastCore
import HoldfastHTTP
import HoldfastSQLite
@testable import HoldfastServer
import ServerScenes
import Testing

@Suite("A snapshot in parts")
struct SnapshotRangeTests {
  private let server: TestServer
  private let ann: TestDevice
  private let list: String

  init() throws {
    server = try TestServer()
    ann = try server.signUp("ann")
    list = try ann.makeList()
  }

  @Test("is one range: first, middle, to the end, the last bytes, and beyond")
  func ranges() throws {
    let whole = try ann.snapshot(list).content
    let size = whole.count
    for (range, expected) in [
      ("bytes=0-0", 0..<1), ("bytes=100-199", 100..<200), ("bytes=\(size - 5)-", size - 5..<size),
      ("bytes=-7", size - 7..<size), ("bytes=-\(size * 2)", 0..<size), ("BYTES=5-\(size * 2)", 5..<size),
      ("bytes=5-99999999999999999999", 5..<size),
    ] {
      let answer = try ann.snapshot(list, ["Range": range])
      #expect(answer.status == 206, "\(range)")
      #expect(answer.content == Array(whole[expected]), "\(range)")
      #expect(
        answer.header("Content-Range") == "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/\(size)")
    }
    for range in ["bytes=\(size)-", "bytes=-0", "bytes=99999999999999999999-"] {
      let answer = try ann.snapshot(list, ["Range": range])
      #expect(answer.status == 416 && answer.header("Content-Range") == "bytes */\(size)", "\(range)")
    }
    for range in ["bytes=0-1,5-6", "lines=0-1", "bytes=b-c", "bytes=5-1", "bytes=", "bytes=-", "bytes=+1-2"] {
      let answer = try ann.snapshot(list, ["Range": range])
      #expect(answer.status == 200 && answer.content == whole, "\(range)")
    }
  }

  @Test(
    "goes on where it was, also when the zone has moved; a condition on another file sends all or nothing")
  func conditions() throws {
    let old = try ann.snapshot(list)
    let tag = try #require(old.header("ETag"))
    _ = try ann.makeItem(list)
    let rest = try ann.snapshot(list, ["Range": "bytes=100-", "If-Range": tag])
    #expect(rest.status == 206 && Array(old.content[..<100]) + rest.content == old.content)
    #expect(try ann.snapshot(list, ["Range": "bytes=100-", "If-Match": tag]).content == rest.content)
    // Without the range it is the state of now.
    let new = try ann.snapshot(list, ["If-Range": tag])
    #expect(new.header("ETag") != tag && new.content != old.content)
    let unknown = "\"0123abcd.1-00-11\""
    #expect(try ann.snapshot(list, ["Range": "bytes=5-", "If-Range": unknown]).status == 200)
    #expect(try ann.snapshot(list, ["Range": "bytes=5-", "If-Match": unknown]).status == 412)
    #expect(try ann.snapshot(list, ["If-None-Match": tag]).status == 200)
    let newTag = try #require(new.header("ETag"))
    for known in [newTag, "\(unknown), \(newTag)", "W/\(newTag)"] {
      let answer = try ann.snapshot(list, ["If-None-Match": known])
      #expect(answer.status == 304 && answer.content.isEmpty && answer.header("ETag") == newTag)
    }
    #expect(
      try ann.snapshot(list, ["Range": "bytes=100-", "If-Match": "\(unknown), \(tag)"]).content
        == rest.content)
    // Two newer states, and the first one is kept no more.
    _ = try ann.makeItem(list)
    _ = try ann.snapshot(list)
    #expect(try ann.snapshot(list, ["Range": "bytes=5-", "If-Match": tag]).status == 412)
  }

  @Test("is of what is sent: compressed or plain, each with its digest and ETag")
  func compressed() throws {
    let plain = try ann.snapshot(list)
    let small = try ann.snapshot(list, ["Accept-Encoding": "gzip, zstd;q=0.5"])
    #expect(small.header("Content-Encoding") == "zstd" && plain.header("Content-Encoding") == nil)
    #expect(small.content.prefix(4) == [0x28, 0xB5, 0x2F, 0xFD] && small.content.count < plain.content.count)
    for answer in [plain, small] {
      let digest = ContentHash { $0 == 0 ? answer.content : [] }
      #expect(answer.header("Repr-Digest") == "sha-256=:\(Data(digest.bytes).base64EncodedString()):")
    }
    let tag = try #require(small.header("ETag"))
    #expect(tag != plain.header("ETag"))
    #expect(try ann.snapshot(list, ["If-None-Match": tag]).status == 304)
    let rest = try ann.snapshot(list, ["Accept-Encoding": "zstd", "Range": "bytes=10-", "If-Range": tag])
    #expect(rest.status == 206 && rest.content == Array(small.content[10...]))
    // A condition on the other form is one on another file.
    let plainTag = try #require(plain.header("ETag"))
    let other = try ann.snapshot(list, ["Range": "bytes=10-", "If-Range": plainTag])
    #expect(other.status == 206 && other.content == Array(plain.content[10...]))
    for refused in ["identity", "zstd;q=0", "gzip", "*;q=0.1"] {
      #expect(try ann.snapshot(list, ["Accept-Encoding": refused]).header("Content-Encoding") == nil)
    }
  }

  @Test("HEAD says the same without the body")
  func head() throws {
    let (get, head) = (try ann.snapshot(list), try ann.snapshot(list, method: "HEAD"))
    #expect(head.status == 200 && head.contentLength == get.contentLength)
    for name in ["ETag", "Repr-Digest", "Content-Type", "Accept-Ranges"] {
      #expect(head.header(name) == get.header(name) && get.header(name) != nil)
    }
  }
}
