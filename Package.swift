// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

/// How a module is compiled for the tests: as a whole, so that one compiler reads what it imports, and its interface together with it.
/// Scripts/test.sh sets the variable. Apps never do, as packages that others depend on may not have such flags.
let whole: [SwiftSetting] =
  Context.environment["HOLDFAST_TESTS"] == nil
  ? strict
  : strict + [
    .unsafeFlags(["-whole-module-optimization", "-num-threads", "2", "-no-emit-module-separately-wmo"])
  ]

/// What compares texts and bytes and reads JSON is optimized too. To optimize all would take longer than the tests take without.
let optimized: [SwiftSetting] =
  Context.environment["HOLDFAST_TESTS"] == nil ? strict : whole + [.unsafeFlags(["-O"])]

/// How HoldfastCore is: SwiftPM builds the tool of RecordsPlugin twice, and file by file the second time finds that nothing has changed.
let core: [SwiftSetting] =
  Context.environment["HOLDFAST_TESTS"] == nil ? strict : strict + [.unsafeFlags(["-O"])]

/// Apple's systems have SQLite, which the module map links; one of Homebrew's would not be on the devices.
#if os(macOS)
  let sqlite: String? = nil
#else
  let sqlite: String? = "sqlite3"
#endif

/// Arrows point only toward HoldfastCore, HoldfastConcurrency and HoldfastSystem; the client (`Holdfast`) and the server's modules never import each
/// other, nor do the two engines, nor the rules (`HoldfastService`) an engine or HTTP.
let package = Package(
  name: "holdfast",
  platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
  products: [
    .library(name: "Holdfast", targets: ["Holdfast"]),
    .library(name: "HoldfastServer", targets: ["HoldfastServer"]),
    .library(name: "HoldfastTesting", targets: ["HoldfastTesting"]),
    .executable(name: "holdfast", targets: ["HoldfastCommand"]),
    .executable(name: "jot", targets: ["Jot"]),
    .executable(name: "cards", targets: ["Cards"]),
    .executable(name: "fleet", targets: ["Fleet"]),
    .plugin(name: "SnapshotPlugin", targets: ["SnapshotPlugin"]),
    .plugin(name: "RecordsPlugin", targets: ["RecordsPlugin"]),
    .executable(name: "simulate", targets: ["HoldfastSimulation"]),
  ],
  targets: [
    .systemLibrary(name: "CSQLite", pkgConfig: sqlite, providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CSockets", pkgConfig: "gnutls", providers: [.apt(["libgnutls28-dev"])]),
    .systemLibrary(
      name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(
      name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    .systemLibrary(name: "CDeflate", pkgConfig: "libdeflate", providers: [.apt(["libdeflate-dev"])]),
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .target(name: "HoldfastCore", swiftSettings: core),
    .target(name: "HoldfastSystem", swiftSettings: optimized),
    .target(
      name: "HoldfastDigest",
      dependencies: ["HoldfastCore", .target(name: "COpenSSL", condition: .when(platforms: [.linux]))],
      swiftSettings: optimized),
    .target(
      name: "HoldfastSQLite", dependencies: ["HoldfastCore", "HoldfastSystem", "CSQLite"],
      swiftSettings: optimized),
    .target(name: "HoldfastCurl", dependencies: ["HoldfastCore", "CCurl"], swiftSettings: whole),
    .target(
      name: "Holdfast",
      dependencies: [
        "HoldfastCore", "HoldfastSystem", "HoldfastDigest", "HoldfastSQLite",
        .target(name: "HoldfastCurl", condition: .when(platforms: [.linux])),
      ], swiftSettings: whole),
    .target(name: "HoldfastConcurrency", dependencies: ["HoldfastSystem"], swiftSettings: optimized),
    .target(
      name: "HoldfastPostgres", dependencies: ["HoldfastConcurrency", "CPostgres"], swiftSettings: optimized),
    .target(
      name: "HoldfastHTTP",
      dependencies: ["HoldfastSystem", "HoldfastConcurrency", "CSockets", "CZstd", "CDeflate"],
      swiftSettings: whole),
    .target(
      name: "HoldfastService", dependencies: ["HoldfastCore", "HoldfastSystem", "HoldfastConcurrency"],
      swiftSettings: whole),
    .target(
      name: "HoldfastSQLiteStore",
      dependencies: [
        "HoldfastCore", "HoldfastSystem", "HoldfastConcurrency", "HoldfastService", "HoldfastSQLite",
      ],
      swiftSettings: optimized),
    .target(
      name: "HoldfastTesting",
      dependencies: [
        "HoldfastCore", "HoldfastSystem", "HoldfastConcurrency", "HoldfastService", "HoldfastSQLite",
        "HoldfastSQLiteStore", "Holdfast",
      ],
      swiftSettings: whole),
    .target(
      name: "HoldfastPostgresStore",
      dependencies: [
        "HoldfastCore", "HoldfastSystem", "HoldfastConcurrency", "HoldfastService", "HoldfastPostgres",
      ],
      swiftSettings: whole),
    .target(name: "CWebClient", path: "clients/js/embedded"),
    .target(
      name: "HoldfastServer",
      dependencies: [
        "HoldfastCore", "HoldfastSystem", "HoldfastDigest", "HoldfastConcurrency", "CWebClient",
        "HoldfastService",
        "HoldfastSQLite", "HoldfastSQLiteStore",
        "HoldfastPostgres", "HoldfastPostgresStore", "HoldfastHTTP", "CSodium", "CZstd", "COpenSSL",
      ],
      swiftSettings: whole),
    .target(name: "HoldfastRecords", dependencies: ["HoldfastCore"], swiftSettings: whole),
    .executableTarget(
      name: "RecordsTool", dependencies: ["HoldfastCore", "HoldfastRecords"], swiftSettings: strict),
    .plugin(name: "RecordsPlugin", capability: .buildTool(), dependencies: ["RecordsTool"]),
    .executableTarget(
      name: "HoldfastCommand",
      dependencies: [
        "HoldfastCore", "HoldfastSystem", "HoldfastService", "HoldfastSQLite", "HoldfastSQLiteStore",
        "HoldfastServer", "HoldfastHTTP", "HoldfastPostgres", "HoldfastCurl", "Holdfast", "HoldfastRecords",
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "Jot", dependencies: ["HoldfastCore", "Holdfast"], path: "Examples/Jot",
      resources: [.embedInCode("holdfast.json")], swiftSettings: strict),
    .target(
      name: "CardsModel", dependencies: ["Holdfast"], path: "Examples/Cards/Model",
      exclude: ["holdfast.json"],
      swiftSettings: strict, plugins: ["RecordsPlugin"]),
    .executableTarget(
      name: "Cards", dependencies: ["CardsModel", "Holdfast"], path: "Examples/Cards/Terminal",
      swiftSettings: strict),
    .testTarget(
      name: "CardsTests", dependencies: ["CardsModel", "HoldfastTesting"], path: "Examples/Cards/Tests",
      swiftSettings: whole),
    .executableTarget(
      name: "Fleet", dependencies: ["Holdfast", "HoldfastPostgres"],
      path: "Examples/Fleet", swiftSettings: strict),
    .executableTarget(
      name: "HoldfastSimulation",
      dependencies: [
        "HoldfastCore", "HoldfastSQLite", "HoldfastPostgres", "HoldfastSQLiteStore", "HoldfastServer",
        "HoldfastHTTP", "Holdfast", "CSQLite",
      ],
      swiftSettings: whole),
    .plugin(
      name: "SnapshotPlugin",
      capability: .command(
        intent: .custom(verb: "snapshot", description: "Refreshes the snapshot that an app ships."),
        permissions: [
          .writeToPackageDirectory(reason: "The snapshot is a file of the app."),
          .allowNetworkConnections(scope: .all(), reason: "The snapshot may come from a server."),
        ])),
    .testTarget(
      name: "HoldfastCoreTests", dependencies: ["HoldfastCore"], swiftSettings: whole),
    .testTarget(
      name: "HoldfastSQLiteTests", dependencies: ["HoldfastCore", "HoldfastSQLite"], swiftSettings: whole),
    .target(
      name: "TemporaryPostgres", dependencies: ["HoldfastPostgres"], path: "Tests/TemporaryPostgres",
      swiftSettings: whole),
    .testTarget(
      name: "HoldfastPostgresTests",
      dependencies: ["HoldfastPostgres", "HoldfastSystem", "TemporaryPostgres"],
      swiftSettings: whole),
    .testTarget(
      name: "HoldfastHTTPTests", dependencies: ["HoldfastConcurrency", "HoldfastHTTP"],
      swiftSettings: whole),
    .target(name: "HostileServer", path: "Tests/HostileServer", swiftSettings: whole),
    .testTarget(
      name: "HoldfastCurlTests", dependencies: ["HoldfastCore", "HoldfastCurl", "HostileServer"],
      swiftSettings: whole),
    .target(
      name: "ServerScenes",
      dependencies: [
        "HoldfastCore", "HoldfastConcurrency", "HoldfastSQLite", "HoldfastPostgres", "HoldfastService",
        "HoldfastSQLiteStore", "HoldfastPostgresStore", "HoldfastServer", "TemporaryPostgres",
      ], path: "Tests/ServerScenes", swiftSettings: whole),
    .testTarget(
      name: "HoldfastStoreTests",
      dependencies: [
        "HoldfastCore", "HoldfastConcurrency", "HoldfastSQLite", "HoldfastPostgres", "HoldfastService",
        "HoldfastSQLiteStore", "HoldfastPostgresStore", "HoldfastServer", "TemporaryPostgres", "ServerScenes",
      ], swiftSettings: whole),
    .testTarget(
      name: "HoldfastServerTests",
      dependencies: [
        "HoldfastCore", "HoldfastSystem", "HoldfastDigest", "HoldfastConcurrency", "HoldfastSQLite",
        "HoldfastPostgres", "HoldfastService", "HoldfastSQLiteStore", "HoldfastPostgresStore",
        "HoldfastServer", "TemporaryPostgres", "ServerScenes", "CSodium",
      ], swiftSettings: whole),
    .testTarget(
      name: "HoldfastTests",
      dependencies: ["HoldfastCore", "HoldfastSystem", "HoldfastSQLite", "Holdfast"],
      swiftSettings: whole),
    .testTarget(
      name: "HoldfastTestingTests",
      dependencies: ["HoldfastCore", "HoldfastHTTP", "HoldfastServer", "HoldfastTesting"],
      swiftSettings: whole),
    .testTarget(
      name: "GuideTests", dependencies: ["Holdfast", "HoldfastTesting"], swiftSettings: whole),
    .testTarget(
      name: "HoldfastRecordsTests", dependencies: ["HoldfastCore", "HoldfastRecords", "HoldfastTesting"],
      exclude: ["holdfast.json"], swiftSettings: whole, plugins: ["RecordsPlugin"]),
    .testTarget(
      name: "SimulationTests", dependencies: ["HoldfastCore", "HoldfastSimulation", "CSQLite"],
      swiftSettings: whole),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "HoldfastCore", "HoldfastConcurrency", "HoldfastSQLite", "Holdfast", "HoldfastPostgres",
        "HoldfastService", "HoldfastSQLiteStore", "HoldfastPostgresStore", "HoldfastServer", "HoldfastHTTP",
        "HoldfastCommand", "Jot", "TemporaryPostgres", "HostileServer",
      ],
      swiftSettings: whole),
  ]
)
