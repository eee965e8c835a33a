#!/usr/bin/perl
# calls.t -- what an op costs on the real driver: kernels launched, and calls of CUDA's runtime
#
# An eager op of PyTorch is one launch and one look for errors. Counted over the tests' runtime: the
# same loop with 3 and with 13 turns, so that what is done once does not count.
use strict;
use warnings;
use lib 'tests/cuda';
use FakeGpu;
use Test::More;

my $head = <<'L';
local dev, other = {device = "cuda"}, {device = "cuda:1"}
local a, b, w = torch.rand(8, 16, dev), torch.rand(8, 16, dev), torch.rand(16, 16, dev)
local img, k = torch.rand(2, 3, 8, 8, dev), torch.rand(4, 3, 3, 3, dev)
local index, labels = torch.tensor({0, 1, 2}, dev), torch.tensor({0, 1, 2, 0, 1, 2, 0, 1}, dev)
local host, pinned = torch.rand(8, 16), torch.rand(8, 16):pin_memory()
local par = {torch.rand(16, dev):requires_grad_(), torch.rand(8, dev):requires_grad_()}
for _, p in ipairs(par) do p.grad = torch.ones_like(p) end
local adam = optim.Adam(par, {lr = 0.1})
local event = torch.cuda.Event()
L
# Of each turn: the functions that were called more often, "name count".
sub per_turn {
    my ($op, %env) = @_;
    my (undef, $few)  = calls("$head for _ = 1, 3 do $op end\n", %env);
    my ($out, $many) = calls("$head for _ = 1, 13 do $op end\n", %env);
    diag($out) if $out;
    my %n = map { ($_, ($many->{$_} - ($few->{$_} // 0)) / 10) } grep { !/left/ } keys %$many;
    return join ' ', map { "$_ $n{$_}" } grep { $n{$_} } sort keys %n;
}

my $one = 'cudaGetLastError 1 launches 1';
my $own = 'cudaGetLastError 1'; # a copy or a fill of the runtime's, which fibers do by themselves
for my $case (
    ['an add',                    'local _ = a + b',                    $one],
    ['an add of a number',        'local _ = a + 1',                    $one],
    ['an add in place',           'a:add_(b)',                          $one],
    ['an add of a transposed view', 'local _ = a + b:reshape(16, 8):t()', $one],
    ['a relu',                    'a:relu()',                           $one],
    ['a comparison',              'a:gt(b)',                            $one],
    ['a sum',                     'a:sum()',                            $one],
    ['a sum over a dimension',    'a:sum(1)',                           $one],
    ['a softmax',                 'a:softmax(1)',                       $one],
    ['a layer norm',              'F.layer_norm(a, {16})',              $one],
    ['a product',                 'a:mm(w)',                            $one],
    ['a convolution',             'F.conv2d(img, k)',                   $one],
    ['zeros',                     'torch.zeros(3, dev)',                $own],
    ['random numbers',            'torch.rand(3, dev)',                 $one],
    ['a dropout',                 'F.dropout(a, 0.5)',                  $one],
    ['making it contiguous',      'a:t():contiguous()',                 $one],
    ['a copy on the card',        'a:copy_(b)',                         $own],
    ['a number to the host',      'a:sum():item()',
     'cudaGetLastError 1 cudaMemcpyAsync 1 cudaStreamSynchronize 1 launches 1'],
    ['a copy to the card',        'host:cuda()', 'cudaMemcpyAsync 1 cudaStreamSynchronize 1'],
    ['the same without waiting',  'pinned:to("cuda", {non_blocking = true})',
     'cudaEventRecord 1 cudaMemcpyAsync 1'],
    ['an event',                  'event:record()',                     'cudaEventRecord 1'],
) {
    my ($what, $op, $want) = @$case;
    my $words = $want eq $one ? 'one launch, one look for errors'
        : $want eq $own ? 'no kernel, one look for errors' : $want;
    is(per_turn($op), $want, "$what: $words");
}

# What no op may do: ask for memory, for events, or for the device it has.
my @ops = ('F.cross_entropy(a, labels)', 'F.embedding(index, w)', 'torch.cat({a, b})', 'a:std(0)',
           'F.batch_norm(img, nil, nil, nil, nil, true)', 'F.max_pool2d(img, 2)', 'a:cumsum(1)',
           'torch.where(a:gt(b), a, b)', 'a:sort(1)', 'a:topk(3)', 'local _ = a[a:gt(0.5)]',
           'adam:step()', 'F.mse_loss(a, b)', 'a:argmax(1)', 'a:nonzero()',
           'F.linear(a, w)', 'a:index_select(0, index)', 'a:t():sum(0)');
my $all = per_turn(join "\n", @ops);
unlike($all, qr/Malloc|Free|HostAlloc|SetDevice|EventCreate|GetAttribute|Properties|cuMem/,
       scalar(@ops) . ' ops more ask for no memory, no events and no device') or diag($all);
my $both = per_turn('local _ = a + 1; local x = torch.ones(1, other) + 1',
                    DLREPL_FAKE_CUDA => 'devices=2');
like($both, qr/^cudaGetLastError 3 cudaSetDevice 2 launches 3$/,
     'the device is set where it changes');
done_testing();
