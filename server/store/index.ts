// The store's face: rows in PostgreSQL, and the vault for what must be secret in them.

export { violatedConstraint } from "./faults.ts";
export type { Check, Param, Read, Row, Store, Write } from "./handle.ts";
export { openStore, type StoreOptions } from "./open.ts";
export { openVault, type Vault, type VaultOptions, vaultOf } from "./vault.ts";
export { findBoundHumans } from "./humans.ts";
export { type Branch, type Condition, countRows, listRows, needsSize, type Page, pageStatement, type Selection, wholeTable } from "./list.ts";
export { findManifests, insertManifests, type Manifest, type ManifestFact } from "./manifests.ts";
export {
  deleteBelow, deleteRow, findNamed, findRow, findRows, holdsBelow, insertRow, insertRowUnlessTaken, isReferenced, lockNamed, lockRow,
  readColumns, type Table, updateRow, type Values,
} from "./rows.ts";
export { confirmWitness, Stale, type Witness, witnessed } from "./witness.ts";
