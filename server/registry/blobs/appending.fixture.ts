// A process that appends to uploads and prints its progress until the test kills it. Its bytes follow from their position, so the
// reader knows what to expect.

import { readBlobsSetting } from "#base/blobs-setting.ts";
import { makeBlobKey, openBlobPlace, uploadStart } from "./index.ts";
import { bytesAt } from "./testing.ts";

const [, , setting = "", seedText = "1"] = process.argv;
const place = await openBlobPlace(readBlobsSetting(setting, "/"), { redirects: false });
const seed = Number(seedText);
for (;;) {
  const key = makeBlobKey();
  let at = uploadStart;
  for (let round = 0; round < 4; round++) {
    const length = 1 + ((seed * 7919 + round * 104_729) % 3_000_000);
    const from = at.sizeBytes;
    at = await place.append(
      key,
      at,
      (async function* () {
        for (let given = 0; given < length; given += 50_000) yield bytesAt(from + given, Math.min(50_000, length - given));
      })(),
    );
    process.stdout.write(`${JSON.stringify({ key, at, completed: false })}\n`);
  }
  await place.complete(key, at);
  process.stdout.write(`${JSON.stringify({ key, at, completed: true })}\n`);
}
