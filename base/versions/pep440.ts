// Order of Python versions (PEP 440) as a sort key: epoch, release without trailing zeros, pre-release, post-release, development
// release, local version. Versions outside PEP 440 sort before all others, by bytes, as in older Python tools.

import { compareBytes, numberKey, textKey } from "./sort-key.ts";

const pep440Form = new RegExp(
  [
    /^v?(?:([0-9]+)!)?([0-9]+(?:\.[0-9]+)*)/,
    /(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?([0-9]+)?)?/,
    /(?:-([0-9]+)|[-_.]?(?:post|rev|r)[-_.]?([0-9]+)?())?/,
    /(?:[-_.]?dev[-_.]?([0-9]+)?())?/,
    /(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$/,
  ]
    .map(({ source }) => source)
    .join(""),
);

const preReleases: Readonly<Record<string, string>> = { a: "B", alpha: "B", b: "C", beta: "C", c: "D", rc: "D", pre: "D", preview: "D" };

/** First characters of a key's parts: least, between, most. */
const least = "A";
const most = "E";
/** Ends a release; sorts before any further number. */
const end = "A";
const more = "B";

const releaseKey = (release: string): string => {
  const numbers = release.split(".");
  while (numbers.length > 1 && /^0+$/.test(numbers.at(-1) ?? "")) numbers.pop();
  return numbers.map((number) => more + numberKey(number)).join("") + end;
};

/** No local version sorts before any; texts sort before numbers. */
const localKey = (local: string | undefined): string => {
  if (local === undefined) return least;
  const parts = local.split(/[-_.]/).map((part) => (/^[0-9]+$/.test(part) ? `C${numberKey(part)}` : `B${textKey(part)}`));
  return `B${parts.join("")}${end}`;
};

export const isPep440 = (version: string): boolean => pep440Form.test(version.trim().toLowerCase());

/** Returns a key that sorts, by bytes, as PEP 440 does; equal versions ("1.0" and "1") have equal keys. */
export const pep440Key = (version: string): string => {
  const found = pep440Form.exec(version.trim().toLowerCase());
  if (!found) return `A${textKey(version)}`;
  const [, epoch = "0", release = "", pre, preNumber = "0", postDash, postNumber, posted, devNumber = "0", developed, local] = found;
  const isPost = postDash !== undefined || posted !== undefined;
  const isDev = developed !== undefined;
  // A development release of a plain release sorts before its pre-releases.
  const preKey = pre !== undefined ? (preReleases[pre] ?? "D") + numberKey(preNumber) : isDev && !isPost ? least : most;
  const postKey = isPost ? `B${numberKey(postDash ?? postNumber ?? "0")}` : least;
  const devKey = isDev ? `B${numberKey(devNumber)}` : most;
  return `B${numberKey(epoch)}${releaseKey(release)}${preKey}${postKey}${devKey}${localKey(local)}`;
};

export const comparePep440 = (one: string, other: string): number => compareBytes(pep440Key(one), pep440Key(other));
