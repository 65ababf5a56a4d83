// rpm's database in SQLite (rpmdb.sqlite): RHEL 9, Fedora, Amazon Linux 2023. The file is hostile, so it is a copy that only this
// process has, without its log's mode, checked before it is read, and read without the extensions of its schema.

import { DatabaseSync } from "node:sqlite";
import { limits } from "#base/limits.ts";
import { type ByteSource, withCopy } from "../byte-source.ts";
import type { FoundPackage } from "../found-package.ts";
import { DatabaseError } from "../problem.ts";
import { openRpmHeaders } from "./rpm-header.ts";

/** Bytes 18 and 19 are 2 for a log that SQLite would write next to the file. */
const withoutLog = (bytes: Buffer, position: number): void => {
  if (position > 0 || bytes.length < 20) return;
  bytes[18] = 1;
  bytes[19] = 1;
};

/** Calls `use` for each package. Throws DatabaseError. */
export const readRpmSqlite = (source: ByteSource, use: (found: FoundPackage) => void): void => {
  if (source.sizeBytes === 0) return;
  if (source.read(0, 16).toString("latin1") !== "SQLite format 3\0") throw new DatabaseError("is not SQLite");
  const headers = openRpmHeaders(use);
  withCopy(source, withoutLog, (path, remove) => {
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(path, { readOnly: true, allowExtension: false, enableDoubleQuotedStringLiterals: false });
      // SQLite opens the file with its first statement.
      database.exec("pragma trusted_schema = off; pragma cell_size_check = on; pragma mmap_size = 0; pragma cache_size = -4096; pragma temp_store = memory");
      const [checked] = database.prepare("pragma quick_check(1)").all();
      remove();
      if (checked?.quick_check !== "ok") throw new DatabaseError("is a damaged SQLite database");
      const [table] = database.prepare("select type, sql from sqlite_schema where name = 'Packages'").all();
      // A view or a virtual table could compute its rows without end.
      if (table === undefined || table.type !== "table" || !/^\s*create\s+table\b/i.test(String(table.sql))) throw new DatabaseError("has no table Packages");
      const rows = database.prepare(`select blob from "Packages" where typeof(blob) = 'blob' and length(blob) <= ? limit ?`);
      for (const { blob } of rows.iterate(limits.rpmHeaderBytesMax, limits.layerPackagesMax)) {
        if (blob instanceof Uint8Array) headers.read(() => Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength));
      }
      headers.finish();
    } catch (thrown) {
      if (thrown instanceof DatabaseError) throw thrown;
      throw new DatabaseError("is a SQLite database that cannot be read");
    } finally {
      database?.close();
    }
  });
};
