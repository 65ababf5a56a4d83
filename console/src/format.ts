// Dates, sizes and digests as people read them.

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "long", timeStyle: "medium" });

const units: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** "3 days ago" */
export const relativeTime = (time: string, nowMs: number): string => {
  const seconds = (Date.parse(time) - nowMs) / 1000;
  if (!Number.isFinite(seconds)) return time;
  const [unit, length] = units.find(([, each]) => Math.abs(seconds) >= each * 0.75) ?? ["second", 1];
  return Math.abs(seconds) < 45 ? relative.format(0, "second") : relative.format(Math.round(seconds / length), unit);
};

export const exactTime = (time: string): string => (Number.isNaN(Date.parse(time)) ? time : exact.format(new Date(time)));

/** The end of a day of the user's calendar: "2026-04-30". */
export const endOfDay = (date: string): string => {
  const end = new Date(`${date}T23:59:59`);
  return Number.isNaN(end.getTime()) ? date : end.toISOString();
};

const sizeUnits = ["B", "kB", "MB", "GB", "TB"];

/** "12.3 MB" */
export const sizeText = (bytes: number): string => {
  const step = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), sizeUnits.length - 1);
  const value = bytes / 1000 ** step;
  return `${new Intl.NumberFormat("en", { maximumFractionDigits: step === 0 || value >= 100 ? 0 : 1 }).format(value)} ${sizeUnits[step]}`;
};

/** "sha256:7f3a0b6d…8f7a": shortened in the middle. */
export const shortDigest = (digest: string): string => (digest.length <= 24 ? digest : `${digest.slice(0, 15)}…${digest.slice(-4)}`);

/** "eb5ac0fe…1df4" */
export const shortUid = (uid: string): string => (uid.length <= 16 ? uid : `${uid.slice(0, 8)}…${uid.slice(-4)}`);

/** Quotes a value for a shell, if it needs quotes or always. */
export const shellWord = (value: string, always = false): string => (!always && /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`);

/** "get-size": "getSize" */
export const camel = (name: string): string => name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
