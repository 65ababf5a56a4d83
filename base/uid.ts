// Arithmetic on uids. A uid is its own path in the group tree: a root of 40 hex characters, then "/" and
// 16 hex characters for each level below (uidp). Outside the server it is opaque.
//
// EVERYWHERE ("") is the place above every root. Only the operator's binding lies there.

import { limits } from "./limits.ts";

export const EVERYWHERE = "";

const form = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/;
const segmentLength = 17;
const rootLength = 40;

/** True for a well-formed uid of a length that can be. */
export const isUid = (value: string): boolean => value.length <= limits.uidLengthMax && form.test(value);

/** True for a uid without a parent. */
export const isRoot = (uid: string): boolean => uid.length === rootLength;

/** The uid one level up; EVERYWHERE for a root. */
export const parentOf = (uid: string): string => (isRoot(uid) ? EVERYWHERE : uid.slice(0, -segmentLength));

/** The first segment: the organization, or the person's own uid. */
export const rootOf = (uid: string): string => uid.slice(0, rootLength);

/** How many levels a uid lies below its root. */
export const depthOf = (uid: string): number => (uid.length - rootLength) / segmentLength;

/** The uid itself and everything above it, nearest first, without EVERYWHERE. */
export const ancestry = (uid: string): string[] => {
  const line: string[] = [];
  for (let place = uid; place !== EVERYWHERE; place = parentOf(place)) line.push(place);
  return line;
};

/** True where `place` is `uid` or lies above it. EVERYWHERE covers all. */
export const covers = (place: string, uid: string): boolean =>
  place === EVERYWHERE || uid === place || (uid.length > place.length && uid.startsWith(place) && uid[place.length] === "/");

const hex = (bytes: number): string => {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  let out = "";
  for (const byte of random) out += byte.toString(16).padStart(2, "0");
  return out;
};

/** A new root uid. */
export const newRoot = (): string => hex(20);

/** A new uid below `parent`. */
export const newChild = (parent: string): string => `${parent}/${hex(8)}`;
