internal import CSodium
public import HoldfastService

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

extension ServerEnvironment {
  /// The machine's clock, the system's randomness and argon2id.
  public static var system: ServerEnvironment {
    precondition(sodium_init() >= 0, "libsodium can't be initialized on this machine.")
    var environment = ServerEnvironment(
      now: { milliseconds(CLOCK_REALTIME) }, random: randomBytes, passwords: .argon2id)
    #if os(Linux)
      environment.measured = { milliseconds(CLOCK_BOOTTIME) }
    #else
      environment.measured = { milliseconds(CLOCK_MONOTONIC) }
    #endif
    return environment
  }
}

extension PasswordHashing {
  /// argon2id by libsodium, with its limits for interactive use: 64 MiB and two passes.
  ///
  /// Source: RFC 9106; <https://doc.libsodium.org/password_hashing>.
  public static var argon2id: PasswordHashing {
    PasswordHashing(hash: argon2idHash, verify: argon2idVerify, decoy: argon2idDecoy)
  }
}

private func milliseconds(_ clock: clockid_t) -> Int64 {
  var time = timespec()
  clock_gettime(clock, &time)
  return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
}

private func randomBytes(_ count: Int) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
    if let start = buffer.baseAddress { randombytes_buf(start, count) }
    initialized = count
  }
}

private func argon2idHash(_ password: String) -> String? {
  var text = [CChar](repeating: 0, count: Int(crypto_pwhash_strbytes()))
  let result = crypto_pwhash_str(
    &text, password, UInt64(password.utf8.count), UInt64(crypto_pwhash_opslimit_interactive()),
    crypto_pwhash_memlimit_interactive())
  return result == 0
    ? String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
}

/// The hash of 48 random bytes, which were kept nowhere.
private let argon2idDecoy =
  "$argon2id$v=19$m=65536,t=2,p=1$KFzLL3Ht2oY036+Cwt+/Og$IjfmD+4R0PuQouj3OG4KI4H5Lfq7OhZ1bhdo4EH3Q80"

private func argon2idVerify(_ password: String, _ stored: String) -> Bool {
  crypto_pwhash_str_verify(stored, password, UInt64(password.utf8.count)) == 0
}
