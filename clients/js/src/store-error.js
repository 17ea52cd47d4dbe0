// What keeps a store from reading or writing its storage.

/** The storage can't be used by this version of the app, is gone, or has no data of the user any more. */
export class StoreError extends Error {
  name = "StoreError";

  /** @param code `database-is-newer`, `database-closed`, `signed-out`; of a folder also `cannot-open` and `zone-ambiguous` */
  constructor(code, message, isGone = false) {
    super(message);
    this.code = code;
    /** Whether nothing of the data is left. */
    this.isGone = isGone;
  }
}

/** Another version of the app has taken the storage over. */
export function replaced() {
  return new StoreError("database-is-newer", "Another version of this app has opened the database. Load the page again.");
}

/** Another tab has removed the data of the user for whom something is written. */
export function signedOut() {
  return new StoreError("signed-out", "Another tab has signed out, and removed the data from this device. Nothing was written.", true);
}

/** The browser has taken the storage away. @param isGone whether it was deleted. */
export function closed(isGone = false) {
  return new StoreError("database-closed", "The browser has closed the database, perhaps because the data of this site was deleted. Load the page again.", isGone);
}

/** The database has left its folder. */
export function left() {
  return new StoreError("database-closed", "The database was removed from this device. Nothing was written.", true);
}
