// Texts of the keyboard shortcuts.

import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  keySearch: "Search, go to a page, run an action",
  keyHelp: "List keyboard shortcuts",
  keyMove: "Move through results and the tree of groups",
  keyTree: "Open or close a group of the tree",
  keyOpen: "Open the selected entry",
  keyClose: "Close a dialog",
  singleKeys: "Keys without Ctrl or ⌘",
} as const;
