// Texts of the offer to undo a deletion.

import { texts as first } from "../texts.ts";

export const texts = {
  close: first.close,
  deleted: "Deleted:",
  undo: "Undo",
  restored: "Restored",
} as const;
