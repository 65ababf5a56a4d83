// Uid arithmetic. A uid is its path in the group tree: a root of 40 hex characters, then "/" and 16 hex characters for each level
// (uidp). Clients treat it as opaque.
//
// EVERYWHERE ("") is above every root; only the operator's role binding is there.

import { limits } from "./limits.ts";

export const EVERYWHERE = "";

const form = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/;
const segmentLength = 17;
const rootLength = 40;

/** Returns true for a well-formed uid of at most the maximum length. */
export const isUid = (value: string): boolean => value.length <= limits.uidLengthMax && form.test(value);

/** Returns true for a uid without a parent. */
export const isRoot = (uid: string): boolean => uid.length === rootLength;

/** Returns the uid one level up; EVERYWHERE for a root. */
export const parentOf = (uid: string): string => (isRoot(uid) ? EVERYWHERE : uid.slice(0, -segmentLength));

/** Returns the first segment: the organization, or the user's own uid. */
export const rootOf = (uid: string): string => uid.slice(0, rootLength);

export const depthOf = (uid: string): number => (uid.length - rootLength) / segmentLength;

/** Returns the uid and its ancestors, nearest first, without EVERYWHERE. */
export const ancestry = (uid: string): string[] => {
  const line: string[] = [];
  for (let place = uid; place !== EVERYWHERE; place = parentOf(place)) line.push(place);
  return line;
};

/** Returns true if `place` equals `uid` or is an ancestor of it. EVERYWHERE covers all uids. */
export const covers = (place: string, uid: string): boolean =>
  place === EVERYWHERE || uid === place || (uid.length > place.length && uid.startsWith(place) && uid[place.length] === "/");

const hex = (bytes: number): string => {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  let out = "";
  for (const byte of random) out += byte.toString(16).padStart(2, "0");
  return out;
};

export const newRoot = (): string => hex(20);

/** Returns a new uid below `parent`. */
export const newChild = (parent: string): string => `${parent}/${hex(8)}`;
