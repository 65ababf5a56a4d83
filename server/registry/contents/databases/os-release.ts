// etc/os-release and usr/lib/os-release: the distribution and its release (freedesktop.org's os-release(5)).

export interface OsRelease {
  /** "debian". */
  readonly id: string;
  /** "12"; "" if it has none, as Debian's testing. */
  readonly version: string;
  /** "Debian GNU/Linux 12 (bookworm)". */
  readonly name: string;
  /** Of Debian and Ubuntu: "bookworm". */
  readonly codeName: string;
}

const unquote = (value: string): string => {
  const [first = "", last = ""] = [value.at(0), value.at(-1)];
  const inner = value.length > 1 && first === last && (first === '"' || first === "'") ? value.slice(1, -1) : value;
  return inner.replace(/\\(["'$`\\])/g, "$1");
};

export const isOsRelease = (path: string): boolean => path === "etc/os-release" || path === "usr/lib/os-release";

/** Returns undefined without an ID of the form that os-release(5) requires. */
export const readOsRelease = (bytes: Buffer): OsRelease | undefined => {
  const fields = new Map<string, string>();
  for (const line of bytes.toString("utf8").split("\n").slice(0, 200)) {
    const [, key, value] = /^([A-Z_]+)=(.*)$/.exec(line.trim()) ?? [];
    if (key !== undefined && value !== undefined) fields.set(key, unquote(value.trim()));
  }
  const field = (key: string, form: RegExp): string => {
    const value = fields.get(key) ?? "";
    return form.test(value) ? value : "";
  };
  const id = field("ID", /^[a-z0-9._-]{1,64}$/);
  if (id === "") return undefined;
  return {
    id,
    version: field("VERSION_ID", /^[A-Za-z0-9._~+-]{1,64}$/),
    name: field("PRETTY_NAME", /^[\x20-\x7e]{1,200}$/),
    codeName: field("VERSION_CODENAME", /^[a-z0-9._-]{1,64}$/),
  };
};
