// Texts of counts by day.

import { count } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  byDay: "By day",
  chartOf: (total: string, first: string, last: string): string => `${total} from ${first} to ${last}`,
  onDay: (number: number, day: string): string => `${count.format(number)} on ${day}`,
  day: "Day (UTC)",
  number: "Number",
  from: "From",
  to: "To",
  showRange: "Show days",
  allDays: "All days",
  asTable: "As a table",
  chooseDays: "Choose days",
  dragHint: "Drag across the chart, or enter days in UTC.",
  rangeInvalid: "The first day must not be after the last one.",
  earlierUnknown: (first: string): string => `Days before ${first} are not counted, because there are too many entries.`,
} as const;
