// `npm run prose`: reports the odd words in the project's prose.
//
//   npm run prose                 the rate of each kind and module, with its budget
//   npm run prose -- FOLDER|FILE  each sentence with odd words
//   npm run prose -- --lower      lowers the budgets to today's rates

import { writeFileSync } from "node:fs";
import { budgetsFile, kinds, measureProse, oddSentencesOf, proseOfProject, rateOf, readBudgets } from "./measure.ts";

const [argument] = process.argv.slice(2);
const texts = proseOfProject();
const measured = measureProse(texts);
const budgets = readBudgets();

const lowered = (): object => {
  const byKind = kinds.map((kind) => {
    const modules = [...(measured.get(kind) ?? [])].map(([module, count]) => {
      const today = Math.max(2, Math.ceil(rateOf(count)));
      return [module, Math.min(today, budgets[kind][module] ?? budgets[kind]["*"] ?? today)] as const;
    });
    return [kind, { "*": budgets[kind]["*"] ?? 2, ...Object.fromEntries(modules.toSorted(([one], [other]) => (one < other ? -1 : 1))) }] as const;
  });
  return Object.fromEntries(byKind);
};

if (argument === "--lower") writeFileSync(budgetsFile, `${JSON.stringify(lowered(), undefined, 2)}\n`);
else if (argument !== undefined) {
  for (const { path, kind, text } of texts) {
    if (path !== argument && !path.startsWith(`${argument.replace(/\/$/, "")}/`)) continue;
    for (const sentence of oddSentencesOf(text)) console.log(`${path} (${kind}): ${sentence}`);
  }
} else
  for (const kind of kinds) {
    const counts = [...(measured.get(kind) ?? [])];
    const sum = counts.reduce((all, [, { odd, words }]) => ({ odd: all.odd + odd, words: all.words + words }), { odd: 0, words: 0 });
    console.log(`${kind}: ${rateOf(sum).toFixed(1)} per 1,000 of ${sum.words} words`);
    for (const [module, count] of counts)
      console.log(`  ${rateOf(count).toFixed(1).padStart(6)} of ${budgets[kind][module] ?? budgets[kind]["*"] ?? 2}  ${module}`);
  }
