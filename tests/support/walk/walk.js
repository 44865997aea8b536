let sum = 0;
function inner(n) {
  for (let i = 0; i < n; i++) sum = (sum + i * i) | 0;
}
function middle(n) {
  inner(n);
  sum++;
}
function outer(n) {
  middle(n);
  sum++;
}
function steady(n) {
  for (let i = 0; i < n; i++) sum = (sum + i * i) | 0;
}
const percent = Number(process.argv[2] ?? 100);
for (let i = 0; i < 40; i++) {
  outer(20000 * percent);
  steady(2000000);
}
