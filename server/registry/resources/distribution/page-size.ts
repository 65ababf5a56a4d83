// The query parameter n of lists (oci: 2).

import { pageInvalid } from "./faults.ts";

/** Returns the number of names, at most `max`; throws PAGINATION_NUMBER_INVALID. */
export const pageSizeOf = (given: string, max: number): number => {
  if (given === "") return max;
  if (!/^[0-9]{1,9}$/.test(given)) throw pageInvalid();
  return Math.min(Number(given), max);
};
