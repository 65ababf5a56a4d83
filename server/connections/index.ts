// Entry point: canonical addresses and connection limits. Cheap to import, because the accepting process loads it.

export { addressFamily, canonicalAddress, holderOf } from "./address.ts";
export { type AddressLimit, openAddressLimit } from "./address-limit.ts";
