import Glibc

/// The standard input, output and error of the program.
enum StandardDescriptors {
  /// Opens /dev/null for those that are closed. Else the next file or connection gets the number of one, and messages are written into it.
  static func open() {
    // The lowest number that is free is given first: that of the closed one.
    for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) == -1 {
      _ = Glibc.open("/dev/null", O_RDWR)
    }
  }
}
