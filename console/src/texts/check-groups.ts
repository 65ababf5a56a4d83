// Texts of grouped checkboxes.

import { count } from "./numbers.ts";

export const texts = {
  filterOf: (label: string): string => `${label}: filter`,
  filterPlaceholder: "Filter",
  chosenCount: (number: number): string => `${count.format(number)} chosen`,
  noMatch: (filter: string): string => `No name contains “${filter}”.`,
  allOf: (group: string): string => `Choose all of ${group}`,
  noneOf: (group: string): string => `Choose none of ${group}`,
  allShort: "All",
  noneShort: "None",
} as const;
