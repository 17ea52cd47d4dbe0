// What the client asks of the operating system outside of Foundation, with a variant for each platform. No other file of the client
// names anything of the C library, so this one is longer than 400 lines.

#if canImport(Darwin)
  import Darwin
  package import Dispatch
#elseif canImport(Android)
  import Android
#elseif canImport(Musl)
  import Musl
#elseif canImport(Glibc)
  import Glibc
#elseif os(Windows)
  import Foundation
  import WinSDK
#endif

#if !os(Windows)
  // Inside types that have methods of these names.
  private func systemClose(_ descriptor: Int32) { _ = close(descriptor) }
  private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
  }
#endif

/// The lock of `Locked`.
///
/// @unchecked Sendable: the pointer is constant, and its target is designed for concurrent use.
final class SystemLock: @unchecked Sendable {
  #if canImport(Darwin)
    private let raw = os_unfair_lock_t.allocate(capacity: 1)
    init() { raw.initialize(to: os_unfair_lock()) }
    func lock() { os_unfair_lock_lock(raw) }
    func unlock() { os_unfair_lock_unlock(raw) }
    deinit { raw.deallocate() }
  #elseif os(Windows)
    private let raw = UnsafeMutablePointer<SRWLOCK>.allocate(capacity: 1)
    init() {
      raw.initialize(to: SRWLOCK())
      InitializeSRWLock(raw)
    }
    func lock() { AcquireSRWLockExclusive(raw) }
    func unlock() { ReleaseSRWLockExclusive(raw) }
    deinit { raw.deallocate() }
  #else
    private let raw = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    init() {
      raw.initialize(to: pthread_mutex_t())
      pthread_mutex_init(raw, nil)
    }
    func lock() { pthread_mutex_lock(raw) }
    func unlock() { pthread_mutex_unlock(raw) }
    deinit {
      pthread_mutex_destroy(raw)
      raw.deallocate()
    }
  #endif
}

#if os(Windows)
  /// Files that their owner alone may read. On Windows the folder of a user's app data is such a place already.
  package enum System {
    /// Which file a path leads to; Windows keeps an open file from being moved or replaced, so there is nothing to tell apart.
    package static func identity(ofFile path: String) -> (device: UInt64, number: UInt64)? { nil }

    /// Makes a folder where there is none.
    package static func makePrivateFolder(_ path: String) throws {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// Writes a file, in place of one that is there.
    package static func write(
      privateFile path: String, _ bytes: UnsafeRawBufferPointer, isDurable: Bool
    ) throws {
      guard FileManager.default.createFile(atPath: path, contents: Data(bytes)) else {
        throw SystemError(description: "The file can not be made.")
      }
      guard isDurable else { return }
      let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      try file.synchronize()
      try file.close()
    }

    /// Makes an empty file for a database where there is none.
    package static func makePrivateDatabase(_ path: String) {}

    /// The bytes of a file; nil when it can't be read whole.
    package static func bytes(ofFile path: String) -> [UInt8]? {
      FileManager.default.contents(atPath: path).map { [UInt8]($0) }
    }

    /// Whether there is anything at a path.
    package static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// Removes a file, if there is one.
    package static func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

    /// Gives a file another name, unless there is one of that name.
    package static func move(_ path: String, toNew name: String) throws {
      try FileManager.default.moveItem(atPath: path, toPath: name)
    }

    /// Makes the names in a folder durable; NTFS does so itself.
    package static func syncFolder(_ path: String) {}
  }

  /// A new file that is written by one process.
  package final class PrivateFileWriter {
    private let path: String
    private var bytes = Data()

    /// Begins a file.
    package init(_ path: String) throws { self.path = path }

    /// Removes what is in the file.
    package func clear() throws { bytes = Data() }

    /// Adds to the file.
    package func write(_ part: UnsafeRawBufferPointer) throws { bytes.append(contentsOf: part) }

    /// Brings the file to the disk.
    package func sync() throws {
      try bytes.withUnsafeBytes { try System.write(privateFile: path, $0, isDurable: true) }
    }
  }
#else
  /// Files that their owner alone may read, whatever the app's umask says.
  package enum System {
    /// Which file a path leads to: another one of the same name is not it. Nil when there is none.
    package static func identity(ofFile path: String) -> (device: UInt64, number: UInt64)? {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      return (UInt64(truncatingIfNeeded: status.st_dev), UInt64(truncatingIfNeeded: status.st_ino))
    }

    /// Makes a folder where there is none; the one that it is in must be there.
    package static func makePrivateFolder(_ path: String) throws {
      if mkdir(path, 0o700) != 0, errno != EEXIST { throw failure() }
    }

    /// Writes a file, in place of one that is there.
    ///
    /// - Parameter isDurable: whether it is on disk when this returns.
    package static func write(
      privateFile path: String, _ bytes: UnsafeRawBufferPointer, isDurable: Bool
    ) throws {
      let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw failure() }
      defer { close(descriptor) }
      try write(bytes, to: descriptor)
      if isDurable, flush(descriptor) != 0 { throw failure() }
    }

    /// Makes an empty file for a database where there is none; SQLite gives the files beside it its mode. What hinders this, SQLite says.
    ///
    /// The file gets its name when it is closed already: with any descriptor of a database a process would lose all its locks on it.
    package static func makePrivateDatabase(_ path: String) {
      var status = stat()
      if lstat(path, &status) == 0 { return }
      let new = path + "-new"
      let descriptor = open(new, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { return }
      close(descriptor)
      link(new, path)
      unlink(new)
    }

    /// The bytes of a file; nil when it is none, or can't be read whole.
    package static func bytes(ofFile path: String) -> [UInt8]? {
      guard let file = fopen(path, "rb") else { return nil }
      defer { fclose(file) }
      var status = stat()
      guard fstat(fileno(file), &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
      let size = Int(status.st_size)
      let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        count = fread(buffer.baseAddress, 1, size, file)
      }
      return bytes.count == size ? bytes : nil
    }

    /// Whether there is anything at a path.
    package static func exists(_ path: String) -> Bool {
      var status = stat()
      return lstat(path, &status) == 0
    }

    /// Removes a file, if there is one.
    package static func remove(_ path: String) { unlink(path) }

    /// Gives a file another name, unless there is one of that name: never in its place, as a rename would.
    package static func move(_ path: String, toNew name: String) throws {
      // Afterwards it has both names, which its owner removes.
      if link(path, name) == 0 { return }
      // Where files have one name only.
      guard !exists(name), rename(path, name) == 0 else { throw failure() }
    }

    /// Makes the names in a folder durable, where that can be done.
    package static func syncFolder(_ path: String) {
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return }
      fsync(descriptor)
      close(descriptor)
    }

    /// Brings a file to the disk; on Apple's platforms `fsync` leaves it in the drive's cache.
    fileprivate static func flush(_ descriptor: Int32) -> Int32 {
      #if canImport(Darwin)
        fcntl(descriptor, F_FULLFSYNC) == 0 ? 0 : fsync(descriptor)
      #else
        fsync(descriptor)
      #endif
    }

    fileprivate static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws {
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = systemWrite(descriptor, UnsafeRawBufferPointer(rebasing: rest))
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw failure() }
        rest = rest.dropFirst(count)
      }
    }

    fileprivate static func failure() -> SystemError {
      SystemError(description: String(cString: strerror(errno)))
    }
  }

  /// A file that its owner alone may read, and that one process at a time writes: others wait in the initializer.
  package final class PrivateFileWriter {
    private let descriptor: Int32

    /// Opens a file, or makes it, and waits for its lock.
    package init(_ path: String) throws {
      let opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard opened >= 0 else { throw System.failure() }
      guard flock(opened, LOCK_EX) == 0 else {
        let failure = System.failure()
        close(opened)
        throw failure
      }
      descriptor = opened
    }

    deinit { close(descriptor) }

    /// Removes what is in the file.
    package func clear() throws {
      guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else { throw System.failure() }
    }

    /// Adds to the file.
    package func write(_ bytes: UnsafeRawBufferPointer) throws { try System.write(bytes, to: descriptor) }

    /// Brings the file to the disk.
    package func sync() throws { if System.flush(descriptor) != 0 { throw System.failure() } }
  }
#endif

#if canImport(Darwin)
  // MARK: Apple

  /// Tells of each write to a file, and of its end.
  package final class FileNotifier: Sendable {
    private let source: Locked<any DispatchSourceFileSystemObject>

    /// Begins to watch; nil when there is no such file.
    ///
    /// - Parameter tell: is called on `queue`; several writes may be told at once.
    package init?(_ path: String, on queue: DispatchQueue, _ tell: @escaping @Sendable () -> Void) {
      let descriptor = open(path, O_EVTONLY | O_CLOEXEC)
      if descriptor < 0 { return nil }
      let source = DispatchSource.makeFileSystemObjectSource(
        fileDescriptor: descriptor, eventMask: [.write, .extend, .delete, .rename, .attrib], queue: queue)
      source.setEventHandler { tell() }
      source.setCancelHandler { systemClose(descriptor) }
      source.activate()
      self.source = Locked(source)
    }

    /// Ends to watch.
    package func stop() { source.withLock { $0.cancel() } }
  }
#elseif os(Linux) || os(Android)
  // MARK: Linux

  /// The kernel's word on files that somebody writes: one descriptor for the whole process, as a user may have 128.
  ///
  /// Source: inotify(7).
  package struct FileNotifier: Sendable {
    /// Readable when something has come.
    package let descriptor: Int32

    /// Opens it; nil when the user has too many.
    package init?() {
      descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
      if descriptor < 0 { return nil }
    }

    /// Begins to watch a file for what is written to it, and for its end; nil when that can't be.
    package func watch(_ path: String) -> Int32? {
      let mask = UInt32(IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB)
      let number = inotify_add_watch(descriptor, path, mask)
      return number < 0 ? nil : number
    }

    /// Ends to watch a file.
    package func stop(_ number: Int32) { inotify_rm_watch(descriptor, number) }

    /// What has come since the last call: the numbers of files, and whether each is watched no more.
    package func events() -> [(number: Int32, isOver: Bool)] {
      var events: [(number: Int32, isOver: Bool)] = []
      let head = MemoryLayout<inotify_event>.size
      withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 8) { buffer in
        while true {
          let count = read(descriptor, buffer.baseAddress, buffer.count)
          guard count >= head else { return }
          var place = 0
          while place + head <= count {
            let event = UnsafeRawBufferPointer(buffer).loadUnaligned(
              fromByteOffset: place, as: inotify_event.self)
            events.append((event.wd, event.mask & UInt32(IN_IGNORED) != 0))
            place += head + Int(event.len)
          }
        }
      }
      return events
    }
  }

  /// The kernel's word on interfaces, addresses and routes.
  ///
  /// Source: netlink(7), rtnetlink(7). The headers of Linux are not part of Swift's module of the C library, so the numbers stand here.
  package struct NetworkNotifier: Sendable {
    /// Readable when something has changed.
    package let descriptor: Int32

    private struct Address {
      let family = UInt16(16)  // AF_NETLINK
      let padding = UInt16(0)
      let port = UInt32(0)
      // RTMGRP_LINK, _IPV4_IFADDR, _IPV4_ROUTE, _IPV6_IFADDR, _IPV6_ROUTE
      let groups = UInt32(0x1 | 0x10 | 0x40 | 0x100 | 0x400)
    }

    /// Opens it; nil where a process may not, as in some containers.
    package init?() {
      descriptor = socket(
        16, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
      if descriptor < 0 { return nil }
      let isBound = withUnsafeBytes(of: Address()) { bytes in
        bytes.withMemoryRebound(to: sockaddr.self) {
          bind(descriptor, $0.baseAddress, socklen_t(MemoryLayout<Address>.size)) == 0
        }
      }
      if !isBound {
        systemClose(descriptor)
        return nil
      }
    }

    /// Passes over what has come: what holds now is asked of the system.
    package func drain() {
      withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 8) { buffer in
        // An overflow says that more has changed than fits: that is all that is asked for.
        while read(descriptor, buffer.baseAddress, buffer.count) > 0 || errno == ENOBUFS { errno = 0 }
      }
    }

    /// Ends it.
    package func close() { systemClose(descriptor) }

    /// The addresses by which other machines can be reached now: `eth0 2 c0a80105`. None means that there is no network.
    package static func addresses() -> [String] {
      var first: UnsafeMutablePointer<ifaddrs>?
      guard getifaddrs(&first) == 0 else { return [] }
      defer { freeifaddrs(first) }
      var found: [String] = []
      var next = first
      while let entry = next {
        next = entry.pointee.ifa_next
        let flags = entry.pointee.ifa_flags
        guard flags & UInt32(IFF_UP) != 0, flags & UInt32(IFF_RUNNING) != 0,
          flags & UInt32(IFF_LOOPBACK) == 0, let address = entry.pointee.ifa_addr
        else { continue }
        let family = Int32(address.pointee.sa_family)
        let (offset, count) = family == AF_INET ? (4, 4) : family == AF_INET6 ? (8, 16) : (0, 0)
        if count == 0 { continue }
        let bytes = UnsafeRawBufferPointer(start: UnsafeRawPointer(address) + offset, count: count)
        // fe80::/10 leads nowhere but to the next machine.
        if family == AF_INET6, bytes[0] == 0xFE, bytes[1] & 0xC0 == 0x80 { continue }
        let text = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        found.append("\(String(cString: entry.pointee.ifa_name)) \(family) \(text)")
      }
      return found.sorted()
    }
  }
#endif

/// Whether an error of the operating system says that a disk, or a user's share of it, is full.
package func saysDiskIsFull(_ code: Int32) -> Bool {
  #if os(Windows)
    [ERROR_DISK_FULL, ERROR_HANDLE_DISK_FULL].contains(code)
  #else
    [ENOSPC, EDQUOT].contains(code)
  #endif
}
