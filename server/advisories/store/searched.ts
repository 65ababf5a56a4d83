// What a search finds of vulnerabilities and packages: by the start of an ID, or of the name of an affected package.

import { columns, expression, type Read, type RowOf, text } from "#db";
import { isWithin, type Places, rootsOf } from "./visibility.ts";

const vulnerability = columns({ id: expression("found.id", text), summary: expression("found.summary", text) });

export type FoundVulnerability = RowOf<typeof vulnerability>;

/** Returns public vulnerabilities, and those of private sources in these places, whose ID starts with one of the texts. */
export const findVulnerabilitiesByStart = (read: Read, { lows, highs }: Places, starts: readonly string[], limit: number): Promise<FoundVulnerability[]> =>
  vulnerability.find(
    read,
    `select distinct on (found.id) ${vulnerability.list} from (
       select '' as owner union select distinct group_uid from unnest($1::text[], $2::text[]) as place(low, high)
       join feeds on group_uid >= low and group_uid < high) as held
     cross join unnest($3::text[]) as given(start)
     cross join lateral (
       select id, summary from vulnerabilities
       where vulnerabilities.owner = held.owner and not hidden and id >= start and id < start || '~' order by id limit $4) as found
     order by found.id limit $4`,
    [lows, highs, starts, limit],
    { rows: limit, wide: true },
  );

const affectedPackage = columns({ name: expression("next.name", text) });

/** Returns names of packages of affected images in these places that start with the text. */
export const findAffectedPackagesByStart = async (read: Read, { lows, highs }: Places, start: string, limit: number): Promise<string[]> => {
  const following = (root: string, bound: string) => `(select package_name from affected_images
     where left(uid, 40) = ${root} and package_name ${bound} and package_name < $3 || '~' order by package_name limit 1)`;
  const found = await affectedPackage.find(
    read,
    `select distinct ${affectedPackage.list} from (${rootsOf("$1")}) as place(root)
     cross join lateral (
       with recursive names(name) as (
         ${following("root", ">= $3")} union all select ${following("root", "> names.name")} from names where names.name is not null)
       select name from names where name is not null) as next
     where exists (select from affected_images where left(uid, 40) = root and package_name = next.name and ${isWithin("$1", "$2")})
     order by next.name limit $4`,
    [lows, highs, start, limit],
    { rows: limit, wide: true },
  );
  return found.map(({ name }) => name);
};
