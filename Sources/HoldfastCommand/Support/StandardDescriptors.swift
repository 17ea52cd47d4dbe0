import Glibc

/// The standard input, output and error of the program.
enum StandardDescriptors {
  /// Opens /dev/null for closed ones. Otherwise the next file or connection would get such a number, and messages would be written into it.
  static func open() {
    // The system assigns the lowest free number, which is that of the closed descriptor.
    for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) == -1 {
      _ = Glibc.open("/dev/null", O_RDWR)
    }
  }
}
