// Order of Debian versions (deb-version(7)): epoch, upstream version, revision. Within each, non-digits and numbers alternate;
// "~" sorts before the end, the end before letters, letters before other characters.

import { compareDigits, compareTexts } from "./digits.ts";

const form = /^(?:([0-9]+):)?([A-Za-z0-9.+~:-]+)$/;

/** Weighs a character: "~" below the end of the text (""), letters above it, everything else above letters. */
const weigh = (character: string): number => {
  if (character === "~") return -1;
  if (character === "") return 0;
  const code = character.charCodeAt(0);
  return /[A-Za-z]/.test(character) ? code : code + 256;
};

const compareWords = (one: string, other: string): number => {
  const length = Math.max(one.length, other.length);
  for (let index = 0; index < length; index++) {
    const order = weigh(one[index] ?? "") - weigh(other[index] ?? "");
    if (order !== 0) return order;
  }
  return 0;
};

const turnsOf = (text: string): readonly string[] => text.split(/([0-9]+)/);

/** Compares one part of a Debian version, or a whole opam version, which has no epoch or revision. */
const compareDebianPart = (one: string, other: string): number => {
  const [left, right] = [turnsOf(one), turnsOf(other)];
  const length = Math.max(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const [a, b] = [left[index] ?? "", right[index] ?? ""];
    const order = index % 2 === 0 ? compareWords(a, b) : compareDigits(a || "0", b || "0");
    if (order !== 0) return order;
  }
  return 0;
};

interface DebianVersion {
  readonly epoch: string;
  readonly upstream: string;
  readonly revision: string;
}

const parseDebian = (version: string): DebianVersion | undefined => {
  const found = form.exec(version);
  if (!found) return undefined;
  const [, epoch = "0", rest = ""] = found;
  // The upstream version may contain a colon only if there is an epoch.
  if (found[1] === undefined && rest.includes(":")) return undefined;
  const hyphen = rest.lastIndexOf("-");
  return { epoch, upstream: hyphen < 0 ? rest : rest.slice(0, hyphen), revision: hyphen < 0 ? "" : rest.slice(hyphen + 1) };
};

export const compareDebian = (one: string, other: string): number | undefined => {
  const [left, right] = [parseDebian(one), parseDebian(other)];
  if (!left || !right) return undefined;
  return compareDigits(left.epoch, right.epoch) || compareDebianPart(left.upstream, right.upstream) || compareDebianPart(left.revision, right.revision);
};

const opamForm = /^[A-Za-z0-9.+~_-]+$/;

export const compareOpam = (one: string, other: string): number | undefined =>
  opamForm.test(one) && opamForm.test(other) ? compareTexts(one, other) && compareDebianPart(one, other) : undefined;
