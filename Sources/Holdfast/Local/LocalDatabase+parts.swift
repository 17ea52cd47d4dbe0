extension LocalDatabase {
  var database: LocalDatabase { self }
  var zones: Zones { Zones(database: self) }
  var orphans: Orphans { Orphans(database: self) }
  var pendingDeletions: PendingDeletions { PendingDeletions(database: self) }
  var filling: ZoneFilling { ZoneFilling(database: self) }
  var resets: ResetPacing { ResetPacing(database: self) }
  var missingCreates: MissingCreates { MissingCreates(database: self) }
  var rebase: Rebase { Rebase(database: self) }
  var quarantine: Quarantine { Quarantine(database: self) }
  var unknownResending: UnknownResending { UnknownResending(database: self) }
  var outbox: Outbox { Outbox(database: self) }
  var sealing: Sealing { Sealing(database: self) }
  var formRepair: DeviceFormRepair { DeviceFormRepair(database: self) }
}
