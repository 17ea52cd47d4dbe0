// What keeps a store from reading or writing its storage.

/** The storage can't be used by this version of the app, is gone, or has no data of the user any more. */
export class StoreError extends Error {
  name = "StoreError";

  /** @param code `database-is-newer`, `database-closed` or `signed-out` */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** Another version of the app has taken the storage over. */
export function replaced() {
  return new StoreError("database-is-newer", "Another version of this app has opened the database. Load the page again.");
}

/** Another tab has removed the data of the user for whom something is written. */
export function signedOut() {
  return new StoreError("signed-out", "Another tab has signed out, and removed the data from this device. Nothing was written.");
}

/** The browser has taken the storage away. */
export function closed() {
  return new StoreError("database-closed", "The browser has closed the database, perhaps because the data of this site was deleted. Load the page again.");
}
