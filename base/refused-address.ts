// What a message says of an address that is refused, or does not answer. One with a user, a query or a fragment may hold a password or a token, and
// messages go to logs (attack 204).

/** Behind what an address must be: ", not …", or nothing. */
export const refusedAddress = (address: unknown): string => (typeof address === "string" && /[@?#]/.test(address) ? "" : `, not ${JSON.stringify(address)}`);

/** Of one that does not answer: without its query, in which a key may stand (attack 240). */
export const unreachableText = (address: string): string => `${address.replace(/[?#].*$/s, "")} cannot be reached`;
