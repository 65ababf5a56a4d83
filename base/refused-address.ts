// How messages show addresses that are invalid or unreachable. User info, query or fragment may hold a secret, and messages are
// logged (attack 204).

/** Returns the suffix ", not …" of a message, or "" if the address may hold a secret. */
export const refusedAddress = (address: unknown): string => (typeof address === "string" && /[@?#]/.test(address) ? "" : `, not ${JSON.stringify(address)}`);

/** Returns the message for an unreachable address, without its query, which may hold a key (attack 240). */
export const unreachableText = (address: string): string => `${address.replace(/[?#].*$/s, "")} cannot be reached`;
