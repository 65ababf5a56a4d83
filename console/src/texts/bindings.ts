// Texts of the list of role bindings.

import { counted } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  bindingCount: (number: number): string => counted(number, "role binding", "role bindings"),
  noBindingsTitle: "No role bindings here",
  noBindingsText: "Access to this group comes from role bindings in the groups above it.",
  accessModel: "How access works",
} as const;
