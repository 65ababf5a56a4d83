// Finds repeated keys in JSON objects. JSON.parse silently takes the last one and other parsers the first, so that a check and
// its consumer could disagree. ProtoJSON refuses them (protobuf.dev).

const quote = 0x22;
const colon = 0x3a;
const backslash = 0x5c;
const openBrace = 0x7b;
const openBracket = 0x5b;
const closeBrace = 0x7d;
const closeBracket = 0x5d;

/** A list of this many keys is searched as fast as a set, which takes longer to create. */
const listedMax = 16;

const stringEnd = (text: string, start: number): number => {
  let end = text.indexOf('"', start + 1);
  for (;;) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return end + 1;
    end = text.indexOf('"', end + 1);
  }
};

/** Returns the first repeated key of a text that JSON.parse accepts, or undefined. Linear: it keeps only the keys of open objects. */
export const findRepeatedKey = (text: string): string | undefined => {
  const open: (string[] | Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case openBrace:
      case openBracket:
        open.push(undefined);
        break;
      case closeBrace:
      case closeBracket:
        open.pop();
        break;
      case quote: {
        const end = stringEnd(text, at);
        let next = end;
        while (text.charCodeAt(next) <= 0x20) next++;
        // Only a key is followed by a colon.
        if (text.charCodeAt(next) === colon) {
          const written = text.slice(at + 1, end - 1);
          const key = written.includes("\\") ? String(JSON.parse(text.slice(at, end))) : written;
          const last = open.length - 1;
          const keys = open[last];
          if (!keys) open[last] = [key];
          else if (Array.isArray(keys)) {
            if (keys.includes(key)) return key;
            if (keys.push(key) > listedMax) open[last] = new Set(keys);
          } else if (keys.has(key)) return key;
          else keys.add(key);
        }
        at = next - 1;
      }
    }
  }
  return undefined;
};
