import Foundation
import PackagePlugin

/// Writes the Swift record types of the `holdfast.json` that stands in a target's folder, at each build in which it changed.
@main
struct RecordsPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let module = target.sourceModule else { return [] }
    return try [
      Self.command(
        module.directoryURL, context.pluginWorkDirectoryURL, context.tool(named: "RecordsTool").url)
    ]
  }

  /// The command for a folder.
  static func command(_ folder: URL, _ output: URL, _ tool: URL) throws -> Command {
    let schema = folder.appending(path: "holdfast.json")
    guard FileManager.default.fileExists(atPath: schema.path) else {
      throw Failure(
        "There is no \(schema.path). Put the schema there, or take RecordsPlugin out of the target.")
    }
    let records = output.appending(path: "Records.swift")
    return .buildCommand(
      displayName: "Writing record types of \(schema.lastPathComponent)", executable: tool,
      arguments: [schema.path, records.path], inputFiles: [schema], outputFiles: [records])
  }

  struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }
}

#if canImport(XcodeProjectPlugin)
  import XcodeProjectPlugin

  extension RecordsPlugin: XcodeBuildToolPlugin {
    func createBuildCommands(context: XcodePluginContext, target: XcodeTarget) throws -> [Command] {
      let schemas = target.inputFiles.map(\.url).filter { $0.lastPathComponent == "holdfast.json" }
      guard let schema = schemas.first else {
        throw Failure("The target \(target.displayName) has no file holdfast.json. Add the schema to it.")
      }
      return try [
        Self.command(
          schema.deletingLastPathComponent(), context.pluginWorkDirectoryURL,
          context.tool(named: "RecordsTool").url)
      ]
    }
  }
#endif
