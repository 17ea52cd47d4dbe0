import HoldfastSystem

/// Files and folders that their owner alone may read, whatever the app's umask says.
enum PrivateFile {
  /// Makes a folder where there is none; the one that it is in must be there.
  static func makeFolder(_ path: String) throws {
    do { try System.makePrivateFolder(path) } catch { throw failure(path, error) }
  }

  /// Writes a file, in place of one that is there.
  ///
  /// - Parameter isDurable: whether it is on disk when this returns.
  static func write(_ bytes: UnsafeRawBufferPointer, to path: String, isDurable: Bool) throws {
    do { try System.write(privateFile: path, bytes, isDurable: isDurable) } catch {
      throw failure(path, error)
    }
  }

  /// Makes an empty database where there is none.
  static func makeDatabase(_ path: String) { System.makePrivateDatabase(path) }

  private static func failure(_ path: String, _ error: any Error) -> StoreError {
    StoreError(
      .cannotOpen, "\(path) can not be written: \(error). Allow this user to write in its folder.")
  }
}
