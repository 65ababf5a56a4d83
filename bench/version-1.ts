// Variants for version 1: all repositories of an organization at once, compared with pages of version 2.

import { type JsonObject, objectList, text } from "#base/json.ts";
import type { Variant } from "./environment.ts";
import { fetchJson, wrk } from "./load.ts";

export const listedRepos = 1_000;
const pageSize = 200;

const wholeList: Variant = {
  label: "gantry, 1,000 repos in one list of version 1",
  unit: "1/s",
  async prepare({ fixture }) {
    const { process, of } = fixture();
    const { authorization } = of(listedRepos);
    const url = `${process.url}/registry/v1/repos`;
    const { reply } = await fetchJson(url, authorization);
    if (objectList(reply, "items").length !== listedRepos) throw new Error(`${url} does not answer ${listedRepos} repos`);
    return (seconds) => wrk(url, { authorization }, seconds);
  },
};

/** Measures each page separately; five take the sum of their times. */
const allPages: Variant = {
  label: "gantry, the same in five pages of version 2",
  unit: "1/s",
  async prepare({ fixture }) {
    const { process, of } = fixture();
    const { authorization } = of(listedRepos);
    const urls: string[] = [];
    let [count, token] = [0, ""];
    do {
      const url = `${process.url}/registry/v2/repos?page_size=${pageSize}${token === "" ? "" : `&page_token=${encodeURIComponent(token)}`}`;
      const { reply }: { readonly reply: JsonObject } = await fetchJson(url, authorization);
      urls.push(url);
      count += objectList(reply, "repos").length;
      token = text(reply, "nextPageToken");
    } while (token !== "");
    if (urls.length !== listedRepos / pageSize || count !== listedRepos) throw new Error(`version 2 has ${count} repos in ${urls.length} pages`);
    return async (seconds) => {
      let total = 0;
      for (const url of urls) total += 1 / (await wrk(url, { authorization }, Math.max(1, Math.ceil(seconds / urls.length))));
      return 1 / total;
    };
  },
};

export const version1Variants: Readonly<Record<string, Variant>> = { wholeList, allPages };
