// Table feed_validators: ETag, Last-Modified and listed change time of a feed's URLs, to avoid downloads of unchanged
// content. Each successful import replaces them.

import { columns, flag, type Read, text, type Write } from "#db";

export interface FeedValidator {
  readonly etag: string;
  readonly lastModified: string;
  readonly listed: string;
}

const validator = columns({ address: text, etag: text, lastModified: text, listed: text });
const settledFeed = columns({ settled: flag });

/** Returns validators by URL; empty if read in another manner, or not completely since. */
export const findFeedValidators = async (rows: Read, feed: string, manner: string): Promise<Map<string, FeedValidator>> => {
  const found = await settledFeed.findOne(rows, `select ${settledFeed.list} from feeds where id = $1`, [feed]);
  if (found?.settled !== true) return new Map();
  const known = await validator.find(rows, `select ${validator.list} from feed_validators where feed_id = $1 and manner = $2`, [feed, manner]);
  return new Map(known.map(({ address, ...said }) => [address, said]));
};

export const writeFeedValidators = async (rows: Write, feed: string, manner: string, said: ReadonlyMap<string, FeedValidator>): Promise<void> => {
  const kept = [...said].filter(([, { etag, lastModified, listed }]) => etag !== "" || lastModified !== "" || listed !== "");
  await rows.query("delete from feed_validators where feed_id = $1 and address <> all($2::text[])", [feed, kept.map(([address]) => address)]);
  await rows.query(
    `insert into feed_validators (feed_id, address, manner, etag, last_modified, listed)
     select $1::integer, address, $2, etag, last_modified, listed
     from unnest($3::text[], $4::text[], $5::text[], $6::text[]) as given(address, etag, last_modified, listed)
     on conflict (feed_id, address) do update set manner = excluded.manner, etag = excluded.etag, last_modified = excluded.last_modified,
       listed = excluded.listed`,
    [
      feed,
      manner,
      kept.map(([address]) => address),
      kept.map(([, { etag }]) => etag),
      kept.map(([, { lastModified }]) => lastModified),
      kept.map(([, { listed }]) => listed),
    ],
  );
};
