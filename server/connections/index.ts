// The public entry: client addresses in one spelling, and how many connections each may have. Light by itself: the process that accepts for
// several workers loads it.

export { addressFamily, canonicalAddress, holderOf } from "./address.ts";
export { type AddressLimit, openAddressLimit } from "./address-limit.ts";
