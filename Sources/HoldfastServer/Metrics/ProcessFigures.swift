import Glibc

/// The memory, processor time and open files of this process, under the names that Prometheus' client libraries use.
///
/// It reads nothing outside of `/proc/self`: systemd's `ProcSubset=pid` hides all else.
///
/// Source: proc(5); Prometheus, "Writing client libraries", section Process metrics.
struct ProcessFigures {
  let residentBytes: Double
  let cpuSeconds: Double
  let openFiles: Double
  /// How many files the process may open.
  let fileLimit: Double
  let startSeconds: Double

  /// Reads them from `/proc/self`; nil where the system has no such files.
  init?() {
    guard let memory = Self.read("/proc/self/statm")?.split(separator: " "), memory.count > 1,
      let pages = Double(memory[1]), let stat = Self.read("/proc/self/stat"),
      let end = stat.lastIndex(of: ")"), let directory = opendir("/proc/self/fd")
    else { return nil }
    defer { closedir(directory) }
    // The fields behind the program's name, which may contain anything: field 3 comes first.
    let fields = stat[stat.index(after: end)...].split(separator: " ")
    guard fields.count > 19, let user = Double(fields[11]), let system = Double(fields[12]),
      let started = Double(fields[19])
    else { return nil }
    let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
    residentBytes = pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    cpuSeconds = (user + system) / ticks
    // The start is stated from the boot on.
    startSeconds = Self.time(CLOCK_REALTIME) - Self.time(CLOCK_BOOTTIME) + started / ticks
    var count = 0
    while readdir(directory) != nil { count += 1 }
    // Without the entries "." and "..", and the directory's own descriptor.
    openFiles = Double(max(count - 3, 0))
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
    fileLimit = Double(limit.rlim_cur)
  }

  private static func time(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static func read(_ path: String) -> String? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = fread(&bytes, 1, bytes.count, file)
    return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
  }
}
