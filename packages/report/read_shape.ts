export * from "@perfdata/session/read-shape";
