// Text handling takes time proportional to the length. Every field of every request gets the longest texts it accepts, in every hostile shape;
// new fields are covered automatically. The short run takes a sixth of the shapes per field, another sixth at its next occurrence, and all for
// Markdown.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { methods } from "#contract/catalog.ts";
import type { FieldFact } from "#contract/facts.ts";
import { growthMax, growthOf } from "../growth.ts";
import { type HostileText, hostileMarkdown, hostileTexts } from "../hostile-texts.ts";
import { randomNumbers, shortOrLong } from "../length.ts";
import { nonEmpty } from "../samples.ts";
import { spotsIn, spotsOf } from "./spots.ts";
import { folder, hasSafeWrites, openStage, protocolsOf } from "./stage.ts";

const stage = await openStage();
after(() => stage.close());

const owner = await stage.owner();
const place = await folder(stage);
const { placed } = spotsIn(stage, place);

/** The longest text for a field without a limit; a longer one is refused with the whole request. */
const longestText = 262_144;
const entriesMax = 1_000;

/** Returns values of this field with this much text: one text, one entry or key, or as many as allowed. */
const formsOf = (field: FieldFact): readonly ((text: string) => Json)[] => {
  if (field.shape === "one") return [(text) => text];
  const most = Math.min(entriesMax, field.maxLength > 0 ? field.maxLength : entriesMax);
  const parts = (text: string): string[] => {
    const size = Math.ceil(text.length / most);
    return Array.from({ length: most }, (_, index) => text.slice(index * size, (index + 1) * size).toWellFormed()).filter((part) => part !== "");
  };
  if (field.shape === "list") return [(text) => [text], parts];
  const one = field.keyKind === "string" ? [(text: string): Json => ({ [text.toWellFormed()]: "a" })] : [];
  return [
    ...one,
    (text) => ({ [field.keyKind === "string" ? "key" : "1"]: text }),
    (text) => Object.fromEntries(parts(text).map((part, index) => [field.keyKind === "string" ? `k${index}` : String(index), part])),
  ];
};

const longestOf = (field: FieldFact): number => (field.shape === "one" && field.maxLength > 0 ? field.maxLength : longestText);

const isMarkdown = (field: FieldFact): boolean => field.maxLength === longestText;

/** Returns shapes for a field: Markdown if declared, and those that start like its example. */
const shapesOf = (field: FieldFact): readonly (readonly [string, HostileText])[] => {
  const shapes = Object.entries(isMarkdown(field) ? hostileMarkdown : hostileTexts);
  const example = field.example;
  if (example === "") return shapes;
  return [...shapes, ["its example again and again", (length) => `${example.repeat(Math.ceil(length / example.length)).slice(0, length - 1)}!`]];
};

const shares = shortOrLong(12, 1);
const random = randomNumbers(36);
const turns = new Map<FieldFact, number>();
const tried = new Set<string>();

/** Returns the field's next share of shapes, which differs in each form and operation. */
const chosenFor = (field: FieldFact): readonly (readonly [string, HostileText])[] => {
  const turn = turns.get(field) ?? Math.floor(random() * shares);
  turns.set(field, turn + 1);
  const chosen = shapesOf(field).filter((_, index) => isMarkdown(field) || (index + turn) % shares === 0);
  for (const [name] of chosen) tried.add(name);
  return chosen;
};

let fields = 0;

for (const method of nonEmpty(methods.filter(stage.answers), "operation with an answer")) {
  const spots = spotsOf(method.input, "json").filter(({ field }) => field.kind === "string");
  if (spots.length === 0) continue;
  fields += spots.length;
  test(`${method.name.split(".").at(-1)}: the cost of a text is proportional to its length (${spots.length} fields)`, async () => {
    const request = await stage.request(method, { place, whole: true });
    for (const spot of spots) {
      for (const [index, form] of formsOf(spot.field).entries()) {
        for (const [name, textOf] of chosenFor(spot.field)) {
          const work = async (text: string): Promise<void> => {
            const sent = await placed(request, method.input, spot.path, form(text.toWellFormed()));
            assert.ok(isObject(sent));
            const answer = await stage.call(protocolsOf(method).at(-1) ?? "rest", method, sent, {
              token: owner,
              validateOnly: method.writes && hasSafeWrites(method),
            });
            assert.ok(answer.code !== 13 && answer.code !== 4, `${spot.name}: ${name}: ${answer.code} ${answer.message.slice(0, 200)}`);
          };
          const { growth, longestMs } = await growthOf(work, textOf, longestOf(spot.field));
          assert.ok(growth <= growthMax, `${spot.name}, form ${index}: ${name} grow ${growth.toFixed(1)} times, to ${longestMs.toFixed(0)} ms`);
        }
      }
    }
  });
}

test("every text field of the contract is covered, and every shape is tried", () => {
  assert.ok(fields > 100, `${fields} fields`);
  assert.deepEqual(
    Object.keys(hostileMarkdown).filter((name) => !tried.has(name)),
    [],
  );
  assert.ok(longestText <= limits.bodyBytesMax);
});

test("the check detects work that is quadratic in a text's length", async () => {
  // 32-bit sums, since a larger number would allocate an object each time.
  const square = (text: string): number => {
    let sum = 0;
    for (let one = 0; one < text.length; one++) for (let other = 0; other < text.length; other++) sum = (sum + (text.charCodeAt(other) ^ one)) | 0;
    return sum;
  };
  const line = (text: string): number => {
    let sum = 0;
    for (let one = 0; one < text.length * 500; one++) sum = (sum + text.charCodeAt(one % text.length)) | 0;
    return sum;
  };
  const textOf: HostileText = (length) => "a".repeat(length);
  assert.ok((await growthOf(square, textOf, 8192)).growth > growthMax);
  const linear = await growthOf(line, textOf, 131_072);
  assert.ok(linear.growth > 4 && linear.growth <= growthMax, `${linear.growth}`);
});
