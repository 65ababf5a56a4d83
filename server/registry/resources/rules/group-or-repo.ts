// Operations on a repo, or on everything below a group.

import { findRow, type Read } from "#db";

export const isGroupOrRepo = async (rows: Read, uid: string): Promise<boolean> => {
  const found = await Promise.all(["groups", "repos"].map((name) => findRow(rows, { name, columns: ["uid"] }, uid)));
  return found.some((row) => row !== undefined);
};
