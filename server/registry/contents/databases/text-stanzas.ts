// Stanzas of "Key: value" lines, separated by empty lines: dpkg's status, apk's installed, Python's metadata.

/** Calls `use` with the wanted fields of each stanza. Continued lines are not wanted. */
export const readStanzas = (text: string, wanted: ReadonlySet<string>, use: (fields: ReadonlyMap<string, string>) => void): void => {
  let fields = new Map<string, string>();
  const finish = (): void => {
    if (fields.size > 0) use(fields);
    fields = new Map();
  };
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    const line = text.charCodeAt(end - 1) === 0x0d ? text.slice(at, end - 1) : text.slice(at, end);
    at = end + 1;
    if (line.trim() === "") {
      finish();
      continue;
    }
    const colon = line.indexOf(":");
    if (colon < 1 || line.startsWith(" ") || line.startsWith("\t")) continue;
    const key = line.slice(0, colon);
    // The first counts, as for the package managers.
    if (wanted.has(key) && !fields.has(key)) fields.set(key, line.slice(colon + 1).trim());
  }
  finish();
};
