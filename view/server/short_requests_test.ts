import { assertEquals } from "@std/assert";
import { settleable } from "@perfdata/format/bytes";
import { ShortRequests } from "./short_requests.ts";

Deno.test("ShortRequests: long work goes on when no request is open, also after one that failed", async () => {
  const short = new ShortRequests();
  await short.settled();
  const [first, second] = [settleable<string>(), settleable<string>()];
  const order: string[] = [];
  const answers = [first, second].map(({ promise }) =>
    short.during(() => promise).then((text) => order.push(text), () => order.push("failed"))
  );
  const work = Promise.resolve(short.settled()).then(() => order.push("work"));
  first.reject(new Error("damaged"));
  await answers[0];
  await new Promise((resolve) => setTimeout(resolve, 5));
  assertEquals(order, ["failed"]);
  second.resolve("answered");
  await Promise.all([...answers, work]);
  assertEquals(order, ["failed", "answered", "work"]);
});
